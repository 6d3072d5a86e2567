// SHA-256 (FIPS 180-4): says in a scenario which file it was made with. Not for secrets.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headscope {

std::string sha256(std::span<const std::uint8_t> bytes); // 64 hexadecimal digits, lower case

} // namespace headscope
