// SHA-256 (FIPS 180-4): says in a scenario which file it was made with. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace headscope {

std::string sha256(std::span<const std::uint8_t> bytes); // 64 hexadecimal digits, lower case

// The same, piece by piece, for what is so large that somebody waits for it.
class Sha256 {
public:
    void add(std::span<const std::uint8_t> bytes); // in order
    std::string digits() const;                    // of what was added so far

private:
    // The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
    std::array<std::uint32_t, 8> m_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, 64> m_rest{}; // the beginning of the next block
    std::uint64_t m_bytes = 0;             // in all
};

} // namespace headscope
