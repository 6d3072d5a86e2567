// The numbers of what the window shows, as a file: what `headscope dump` writes, chosen by the file's ending.
// Not here: pictures (ui/render), the choice of a file (document_session).
#pragma once

#include "core/attention/trace.h"
#include "core/attention/view.h"

#include <stop_token>
#include <string>

namespace headscope {

// .npz and .json: every stage of every layer and head, with the weights where the model has them; .csv: the one matrix
// that is shown, with its labels. Throws InputError for another ending and for what does not fit into memory; an older
// file of that name stays whole unless the new one is complete. Throws Cancelled between its steps when it is stopped.
void writeNumbers(const AttentionTrace& trace, const View& view, const std::string& path,
                  const std::stop_token& stop = {});

} // namespace headscope
