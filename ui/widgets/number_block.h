// Blocks of numbers between the program and people: what was typed into a cell, what came from a spreadsheet, what is
// copied. Pure functions. Not here: files (core/model/tensor_file.h), the clipboard itself.
#pragma once

#include "core/tensor/matrix.h"

#include <QLocale>
#include <QString>
#include <optional>

namespace headscope {

// A typed number: as the locale writes it, else with a point. Grouping marks are refused, since "1.234" would be 1234
// in one country. Empty for anything that is no finite float.
std::optional<float> parseNumber(const QString& text, const QLocale& locale = {});

// A pasted block: rows are lines, columns are separated by tabs, else semicolons, else commas or spaces. Throws
// InputError naming the line and what is wrong with it (no number, another number of columns, nothing at all).
Matrix parseNumberBlock(const QString& text, const QLocale& locale = {});

// The shortest text that reads back as the same float, with the locale's decimal point and no grouping.
QString shortestNumber(float value, const QLocale& locale = {});

// Tab-separated, the shortest digits with a point: every float comes back as the same float.
QString numberBlockText(MatrixView values);

// On screen: fixed decimals in the locale's way, with a sign where wanted.
QString screenNumber(double value, int decimals, bool withSign, const QLocale& locale = {});
// Decimals that show at least two digits of a column whose largest entry is `largest`.
int decimalsFor(double largest);

} // namespace headscope
