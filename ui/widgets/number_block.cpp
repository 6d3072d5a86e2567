#include "ui/widgets/number_block.h"

#include "core/tensor/errors.h"

#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headscope {

std::optional<float> parseNumber(const QString& text, const QLocale& locale) {
    QString plain = text.trimmed();
    plain.replace(QChar(0x2212), u'-'); // the typographic minus sign
    if (plain.startsWith(u'+'))
        plain.remove(0, 1);
    QLocale strict = locale;
    strict.setNumberOptions(QLocale::RejectGroupSeparator);
    QLocale c = QLocale::c();
    c.setNumberOptions(QLocale::RejectGroupSeparator);
    bool ok = false;
    double number = strict.toDouble(plain, &ok);
    if (!ok)
        number = c.toDouble(plain, &ok);
    const float value = static_cast<float>(number);
    return ok && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// How a line is cut into columns: spreadsheets copy tabs; the others are what csv files of different countries use.
static QStringList columnsOf(const QString& line, const QLocale& locale) {
    if (line.contains(u'\t'))
        return line.split(u'\t');
    if (line.contains(u';'))
        return line.split(u';');
    if (parseNumber(line, locale))
        return {line};
    if (line.contains(u',') && locale.decimalPoint() != QStringLiteral(","))
        return line.split(u',');
    // With a decimal comma, "0,5 0,7" is two numbers and "0.5,0.7" is two as well.
    if (line.contains(u',') && line.contains(u'.'))
        return line.split(u',');
    return line.simplified().split(u' ');
}

Matrix parseNumberBlock(const QString& text, const QLocale& locale) {
    QStringList lines = text.split(QRegularExpression(QStringLiteral("\r\n|\n|\r")));
    while (!lines.isEmpty() && lines.last().trimmed().isEmpty())
        lines.removeLast();
    if (lines.isEmpty())
        throw InputError("The clipboard holds no numbers; copy a block of cells first.");
    const QStringList first = columnsOf(lines.first(), locale);
    const qsizetype labels = first.size() > 1 && first.first().trimmed().isEmpty() && lines.size() > 1 ? 1 : 0;
    std::vector<float> values;
    qsizetype width = -1;
    for (qsizetype row = labels; row < lines.size(); ++row) {
        const QStringList columns = columnsOf(lines[row], locale).mid(labels);
        const std::string line = "Line " + std::to_string(row + 1) + " of the pasted block ";
        if (width >= 0 && columns.size() != width)
            throw InputError(line + "has " + std::to_string(columns.size()) + " columns, the first has " +
                             std::to_string(width) + "; paste a rectangle.");
        width = columns.size();
        for (const QString& column : columns) {
            const std::optional<float> value = parseNumber(column, locale);
            if (!value)
                throw InputError(line + "holds \"" + column.trimmed().left(40).toStdString() +
                                 "\", which is no finite number; paste numbers only.");
            values.push_back(*value);
        }
    }
    Matrix block(static_cast<int>(lines.size() - labels), static_cast<int>(width));
    std::ranges::copy(values, block.data());
    return block;
}

QString shortestNumber(float value, const QLocale& locale) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return QString::fromLatin1(buffer, static_cast<qsizetype>(end - buffer)).replace(u'.', locale.decimalPoint());
}

QString numberBlockText(MatrixView values) {
    QString text;
    for (int r = 0; r < values.rows; ++r) {
        for (int c = 0; c < values.cols; ++c)
            text += (c ? QStringLiteral("\t") : QString()) + shortestNumber(values(r, c), QLocale::c());
        text += u'\n';
    }
    return text;
}

QString screenNumber(double value, int decimals, bool withSign, const QLocale& locale) {
    if (std::isnan(value))
        return QStringLiteral("nan");
    if (std::isinf(value))
        return value < 0 ? QStringLiteral("-∞") : QStringLiteral("∞");
    QLocale plain = locale;
    plain.setNumberOptions(QLocale::OmitGroupSeparator);
    const QString digits = plain.toString(std::fabs(value), 'f', decimals);
    // A number that rounds to zero keeps its sign: it says which side of zero it is on.
    return std::signbit(value) && value != 0 ? u'-' + digits : withSign ? u'+' + digits : digits;
}

int decimalsFor(double largest) {
    if (!(largest > 0) || !std::isfinite(largest))
        return 2;
    return std::clamp(1 - static_cast<int>(std::floor(std::log10(largest))), largest < 100 ? 2 : 0, 6);
}

} // namespace headscope
