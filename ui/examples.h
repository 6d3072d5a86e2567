// The example sentences of resources/examples.json. Called by the sentence bar and the command line's first picture.
#pragma once

#include <QList>
#include <QString>

namespace headscope {

struct Example {
    QString title;
    QString text;
    QString shows; // what to look for
};
const QList<Example>& examples();

} // namespace headscope
