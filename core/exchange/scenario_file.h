// .headscope: a scenario and its view as JSON. Small, diffs well, no time stamp, opens the same on another machine.
#pragma once

#include "core/attention/scenario.h"
#include "core/attention/view.h"

namespace headscope {

struct Document {
    Scenario scenario;
    View view;
};

// Equal documents give equal bytes. Edits are the cells that differ from the original model (new values), or the whole
// tensor in base64 where that is smaller. Mask, X and Y are embedded.
std::string writeScenario(const Document& document);
// `name` is what errors call the file; paths of models are taken relative to baseFolder. Throws LoadError, or
// Cancelled.
Document readScenario(std::string_view json, const std::string& name, const std::string& baseFolder,
                      const OpenHooks& hooks = {});

// Atomically. What takes a while is the sum of a large checkpoint. Throws LoadError, or Cancelled: then nothing is
// written.
void saveScenario(const Document& document, const std::string& path, const OpenHooks& hooks = {});
Document openScenario(const std::string& path, const OpenHooks& hooks = {});

} // namespace headscope
