#include "core/model/random.h"

#include <cmath>
#include <numbers>

namespace headscope {

std::uint64_t Random::next() {
    m_state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

double Random::uniform() {
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53;
}

double Random::normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t hashText(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return hash;
}

Matrix normalMatrix(int rows, int cols, double deviation, Random& random) {
    Matrix m(rows, cols);
    for (float& v : m.values())
        v = static_cast<float>(deviation * random.normal());
    return m;
}

} // namespace headscope
