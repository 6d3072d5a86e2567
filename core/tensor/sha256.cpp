#include "core/tensor/sha256.h"

#include <algorithm>
#include <array>
#include <bit>

namespace headscope {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> roundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void addBlock(State& state, const std::uint8_t* block) { // 64 bytes
    std::array<std::uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t)
        w[t] = static_cast<std::uint32_t>(block[4 * t]) << 24 | static_cast<std::uint32_t>(block[4 * t + 1]) << 16 |
               static_cast<std::uint32_t>(block[4 * t + 2]) << 8 | block[4 * t + 3];
    for (std::size_t t = 16; t < 64; ++t) {
        const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[t] + w[t];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const State step{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i)
        state[i] += step[i];
}

} // namespace

void Sha256::add(std::span<const std::uint8_t> bytes) {
    const std::size_t held = m_bytes % m_rest.size();
    m_bytes += bytes.size();
    if (held > 0) {
        const auto taken = bytes.first(std::min(bytes.size(), m_rest.size() - held));
        std::ranges::copy(taken, m_rest.begin() + static_cast<std::ptrdiff_t>(held));
        if (held + taken.size() < m_rest.size())
            return;
        addBlock(m_state, m_rest.data());
        bytes = bytes.subspan(taken.size());
    }
    for (; bytes.size() >= m_rest.size(); bytes = bytes.subspan(m_rest.size()))
        addBlock(m_state, bytes.data());
    std::ranges::copy(bytes, m_rest.begin());
}

std::string Sha256::digits() const {
    // The rest, a one bit, zeros, and the length in bits: one block or two.
    const std::size_t held = m_bytes % m_rest.size();
    const std::uint64_t bits = std::uint64_t{8} * m_bytes;
    std::array<std::uint8_t, 128> tail{};
    std::copy_n(m_rest.begin(), held, tail.begin());
    tail[held] = 0x80;
    const std::size_t tailSize = held < 56 ? 64 : 128;
    for (std::size_t i = 0; i < 8; ++i)
        tail[tailSize - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    State state = m_state;
    for (std::size_t at = 0; at < tailSize; at += 64)
        addBlock(state, tail.data() + at);

    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            text += digits[(word >> shift) & 15U];
    return text;
}

std::string sha256(std::span<const std::uint8_t> bytes) {
    Sha256 sum;
    sum.add(bytes);
    return sum.digits();
}

} // namespace headscope
