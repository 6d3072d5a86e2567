// The `headscope render` line that draws what the window shows. Pure. Called by "Copy as command".
#pragma once

#include "core/exchange/scenario_file.h"

#include <QString>

namespace headscope {

// savedPath: the scenario file when it holds exactly this scenario, else empty. Throws InputError when the scenario has
// edits that no option can say and it is not saved.
QString renderCommand(const Document& document, const QString& savedPath);

// One word of a POSIX shell.
QString shellQuoted(const QString& text);

} // namespace headscope
