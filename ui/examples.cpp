#include "ui/examples.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace headscope {

static QList<Example> readExamples() {
    QFile file(QStringLiteral(":/examples.json"));
    QList<Example> list;
    if (!file.open(QIODevice::ReadOnly))
        return list;
    const QJsonArray entries = QJsonDocument::fromJson(file.readAll()).array();
    for (const QJsonValue& entry : entries)
        list.append({entry[QLatin1String("title")].toString(), entry[QLatin1String("text")].toString(),
                     entry[QLatin1String("shows")].toString()});
    return list;
}

const QList<Example>& examples() {
    static const QList<Example> list = readExamples();
    return list;
}

} // namespace headscope
