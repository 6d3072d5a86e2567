#include "ui/widgets/weight_file.h"

#include "core/model/tensor_file.h"
#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/widgets/number_block.h"

#include <QFile>

namespace headscope {

static QString readText(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw LoadError(toUtf8(path), {}, "a readable file", toUtf8(file.errorString()));
    constexpr qint64 most = 256LL << 20;
    if (file.size() > most)
        throw LoadError(toUtf8(path), {}, "a csv file of at most 256 MiB", std::to_string(file.size()) + " bytes");
    return QString::fromUtf8(file.readAll());
}

Matrix readWeightFile(const QString& path, std::string_view wanted) {
    const QString suffix = path.section(u'.', -1).toLower();
    if (suffix == u"csv" || suffix == u"tsv" || suffix == u"txt") {
        try {
            return parseNumberBlock(readText(path), QLocale::c());
        } catch (const LoadError&) {
            throw;
        } catch (const InputError& error) {
            throw InputError(toUtf8(path) + ": " + error.what());
        }
    }
    const std::shared_ptr<const TensorFile> file = openTensorFile(toUtf8(path));
    const TensorEntry* entry = file->find(wanted);
    if (!entry && file->entries().size() == 1)
        entry = &file->entries().front();
    if (!entry)
        throw LoadError(toUtf8(path), std::string(wanted), "an entry of this name, or a single one",
                        std::to_string(file->entries().size()) + " other entries");
    return file->matrix(*entry, true);
}

} // namespace headscope
