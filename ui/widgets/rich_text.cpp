#include "ui/widgets/rich_text.h"

#include <QRegularExpression>

namespace headscope {

QString withIndices(const QString& plain) {
    static const QRegularExpression root(QStringLiteral("sqrt\\(([^()]*)\\)"));
    // One symbol, an underscore, and what belongs to it: a name or a token, which may begin with a bracket ("[CLS]");
    // the bracket after a name is an index of its own ("W_Q[:, 1]"). Words like "mask_after" are no symbols.
    static const QRegularExpression index(QStringLiteral("\\b([A-Za-z])_(\\[[^\\s\\[\\]]*\\]|[^\\s\\[\\],.;:()]+)"));
    QString text = plain;
    text.replace(root, QStringLiteral("√\\1"));
    return text.toHtmlEscaped().replace(index, QStringLiteral("\\1<sub>\\2</sub>"));
}

} // namespace headscope
