#include "ui/mask_file.h"

#include "core/model/tensor_file.h"
#include "ui/stage_text.h"
#include "ui/widgets/number_block.h"

#include <QFile>

namespace headscope {

static bool isWholeNumberType(const std::string& type) {
    const QString name = fromUtf8(type).toUpper(); // "BOOL", "I64", "<i8", "|b1"
    return name == QLatin1String("BOOL") || name.contains(QLatin1Char('I')) || name.contains(QLatin1Char('U')) ||
           name.endsWith(QLatin1String("B1"));
}

Mask maskFromFile(const QString& path) {
    Matrix numbers;
    bool flags = false;
    if (path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly))
            throw LoadError(toUtf8(path), {}, {}, {}, toUtf8(file.errorString()));
        numbers = parseNumberBlock(QString::fromUtf8(file.readAll()), QLocale::c());
    } else {
        const auto file = openTensorFile(toUtf8(path));
        if (file->entries().size() != 1)
            throw LoadError(toUtf8(path), {}, "one matrix", std::to_string(file->entries().size()) + " entries");
        const TensorEntry& entry = file->entries().front();
        numbers = file->matrix(entry, false);
        flags = isWholeNumberType(entry.type);
    }
    MaskPart part;
    part.kind = MaskPart::Kind::Matrix;
    part.additive = share(additiveFromNumbers(numbers, flags));
    return Mask{{part}};
}

} // namespace headscope
