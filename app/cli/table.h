// Table: rows of text in aligned columns, for people. Wide (CJK) and combining characters are counted as a terminal
// does.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace headscope::cli {

class Table {
public:
    // A title that begins with '>' makes a column of numbers: aligned to the right (the mark is not shown).
    explicit Table(std::vector<std::string> titles);
    void row(std::vector<std::string> cells); // as many as there are titles
    void print(std::ostream& out, std::string_view indent = "") const;

private:
    std::vector<bool> m_right;
    std::vector<std::vector<std::string>> m_rows; // the titles first
};

// Cells that a terminal gives to the text.
int displayWidth(std::string_view utf8);
// White space and control characters in a form that can be seen and keeps the table straight: \n, \t, \x00.
std::string visible(std::string_view utf8);

} // namespace headscope::cli
