// Numbers as text and back, with '.' in every locale. Used wherever a file or a command line carries numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headscope {

// The shortest text that reads back as the same float or double; "inf", "-inf", "nan" for the others.
std::string shortest(float value);
std::string shortest(double value);

// The whole text as a finite number ("0.5", "-3", "1e-4"); nothing when it is anything else.
std::optional<double> parseFinite(std::string_view text);

} // namespace headscope
