// Attention that was captured elsewhere is shown as it is: whatever would change it is switched off, and says why.
#pragma once

#include "core/attention/scenario.h"

#include <QString>

namespace headscope {

// Empty where the scenario is computed, and so can be changed.
QString whyUnchangeable(const Scenario& scenario);

} // namespace headscope
