// A scenario and a trace of captured attention (core/model/captured_attention.h): the same values as of a model that
// computes, so that everybody who reads them need not ask. Called by makeScenario, validate, trace and head_stages.
#pragma once

#include "core/attention/trace.h"
#include "core/model/captured_attention.h"

namespace headscope {

// With the file's own tokens. Throws InputError naming an option that asks for another text.
Scenario capturedScenario(OpenedModel opened, const ScenarioRequest& request);
// Throws InputError naming what asks for a computation, LoadError where an array has not its stage's shape.
void validateCaptured(const Scenario& scenario);
// Layers without matrices: the stages come from the file.
std::shared_ptr<AttentionTrace> capturedTrace(const Scenario& scenario, const Backend& backend);
// Null where the file has no such stage.
SharedMatrix capturedMatrix(const Scenario& scenario, LayerIndex layer, HeadIndex head, Stage stage);

} // namespace headscope
