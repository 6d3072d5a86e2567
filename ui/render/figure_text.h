// The words of figures, to be translated: FigureText::tr("queries"). Symbols, stage names and numbers stay as they are.
#pragma once

#include <QCoreApplication>

namespace headscope {

class FigureText {
    Q_DECLARE_TR_FUNCTIONS(headscope::Figure)
};

} // namespace headscope
