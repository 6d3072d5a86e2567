// Base64 (RFC 4648, section 4): whole tensors inside a JSON file.
#pragma once

#include "core/tensor/matrix.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

std::string toBase64(std::span<const std::uint8_t> bytes); // padded, no line breaks
// Nothing for text that toBase64 would not write.
std::optional<std::vector<std::uint8_t>> fromBase64(std::string_view text);

// Floats as little-endian float32, whatever the machine.
std::string floatsToBase64(std::span<const float> values);
std::optional<std::vector<float>> floatsFromBase64(std::string_view text);

} // namespace headscope
