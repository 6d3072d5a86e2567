// Plain text with the field's notation ("W_Q[:, 1]", "Q_[CLS]", "sqrt(d_k)") as rich text with real indices and roots.
#pragma once

#include <QString>

namespace headscope {

QString withIndices(const QString& plain); // escaped

} // namespace headscope
