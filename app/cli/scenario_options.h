// From options to a scenario: model, texts and changes, over those of a saved one (--scenario FILE).
#pragma once

#include "app/cli/common_options.h"
#include "core/exchange/scenario_file.h"

namespace headscope::cli {

// The scenario, checked, with the view of --scenario or the default one. Throws InputError naming the option that does
// not fit. Notes go to streams.err.
Document openDocument(const ComputeOptions& options, const Streams& streams);

} // namespace headscope::cli
