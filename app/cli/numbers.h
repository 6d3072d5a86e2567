// Numbers as people type and read them, with a point in every locale (std::from_chars, std::to_chars).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace headscope::cli {

// Each throws InputError naming the option, what was expected and what was found.
int parseInt(std::string_view option, std::string_view text, int smallest,
             int largest = std::numeric_limits<int>::max());
std::uint64_t parseSeed(std::string_view option, std::string_view text);
double parseNumber(std::string_view option, std::string_view text);                 // finite
std::vector<std::int64_t> parseIds(std::string_view option, std::string_view text); // "5,8,13"
// "0,3,5-7" or "all" of `count` things, in the order given, each once. owner and things make the sentence:
// "--head 9: toy has 8 heads, 0 to 7".
std::vector<int> parseIndices(std::string_view option, std::string_view text, int count, std::string_view owner,
                              std::string_view things);

// One of them.
int parseIndex(std::string_view option, std::string_view text, int count, std::string_view owner,
               std::string_view things);

std::vector<std::string> split(std::string_view text, char separator); // keeps empty parts

std::string fixed(double value, int decimals);               // "0.42", "-inf", "nan"
std::string shortest(double value);                          // the fewest digits that read back the same
std::string grouped(std::int64_t value);                     // "1 234 567"
std::string shapeText(std::int64_t rows, std::int64_t cols); // "3 x 4"

} // namespace headscope::cli
