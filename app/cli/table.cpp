#include "app/cli/table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <ostream>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace headscope::cli {

namespace {

template<class Visit>
void forEachCodePoint(std::string_view utf8, Visit visit) {
    const auto length = static_cast<std::int32_t>(utf8.size());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data()); // U8_NEXT computes with unsigned bytes
    for (std::int32_t i = 0; i < length;) {
        const std::int32_t start = i;
        UChar32 c = 0;
        U8_NEXT(bytes, i, length, c); // negative on a byte that is not UTF-8
        visit(c, utf8.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(i - start)));
    }
}

int widthOf(UChar32 c) {
    if (c < 0)
        return 1;
    const int category = u_charType(c);
    if (category == U_NON_SPACING_MARK || category == U_ENCLOSING_MARK || category == U_FORMAT_CHAR)
        return 0;
    const int eastAsian = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
    return eastAsian == U_EA_FULLWIDTH || eastAsian == U_EA_WIDE ? 2 : 1;
}

} // namespace

int displayWidth(std::string_view utf8) {
    int width = 0;
    forEachCodePoint(utf8, [&](UChar32 c, std::string_view) { width += widthOf(c); });
    return width;
}

std::string visible(std::string_view utf8) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    forEachCodePoint(utf8, [&](UChar32 c, std::string_view piece) {
        if (c == '\n')
            text += "\\n";
        else if (c == '\t')
            text += "\\t";
        else if (c == '\r')
            text += "\\r";
        else if (c >= 0 && u_charType(c) != U_CONTROL_CHAR)
            text += piece;
        else
            for (const char byte : piece) {
                const auto value = static_cast<unsigned char>(byte);
                text += "\\x";
                text += digits[value >> 4U];
                text += digits[value & 15U];
            }
    });
    return text;
}

Table::Table(std::vector<std::string> titles) {
    for (std::string& title : titles) {
        m_right.push_back(title.starts_with('>'));
        if (m_right.back())
            title.erase(0, 1);
    }
    m_rows.push_back(std::move(titles));
}

void Table::row(std::vector<std::string> cells) {
    assert(cells.size() == m_right.size());
    m_rows.push_back(std::move(cells));
}

void Table::print(std::ostream& out, std::string_view indent) const {
    std::vector<int> widths(m_right.size(), 0);
    for (const auto& cells : m_rows)
        for (std::size_t c = 0; c < cells.size(); ++c)
            widths[c] = std::max(widths[c], displayWidth(cells[c]));
    for (const auto& cells : m_rows) {
        std::string line(indent);
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string space(static_cast<std::size_t>(widths[c] - displayWidth(cells[c])), ' ');
            line += (c == 0 ? "" : "  ") + (m_right[c] ? space + cells[c] : cells[c] + space);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    }
}

} // namespace headscope::cli
