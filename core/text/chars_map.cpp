#include "core/text/chars_map.h"

#include "core/tensor/errors.h"
#include "core/text/tokenizer.h"

#include <algorithm>

namespace headscope {

namespace {

// A unit of the double array (Yata, Morita, Fuketa, Aoe 2007; the layout of Darts-clone).
struct Unit {
    std::uint32_t bits;
    bool hasLeaf() const { return (bits >> 8 & 1) != 0; }
    std::uint32_t value() const { return bits & 0x7FFFFFFF; }
    std::uint32_t label() const { return bits & (0x80000000 | 0xFF); }
    std::uint32_t offset() const { return (bits >> 10) << ((bits & (1U << 9)) >> 6); }
};

std::uint32_t littleEndian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// libsentencepiece keeps room for so many entries that begin one text, and does not look whether there are more.
constexpr int maxNested = 32;

} // namespace

CharsMap::CharsMap(std::string_view bytes, const std::string& file, const std::string& entry) {
    const auto fail = [&](const std::string& expected, const std::string& found) {
        throw LoadError(file, entry, expected, found, "the character map is damaged; get the file again");
    };
    const std::size_t size = bytes.size() < 4 ? 0 : littleEndian(bytes);
    if (bytes.size() < 4 || size > bytes.size() - 4 || size % 4 != 0 || size < 4)
        fail("a trie of whole 4-byte units inside " + std::to_string(bytes.size()) + " bytes",
             "a trie of " + std::to_string(size) + " bytes");
    for (std::size_t at = 4; at < 4 + size; at += 4)
        m_units.push_back(littleEndian(bytes.substr(at)));
    m_replacements = bytes.substr(4 + size);
    if (m_replacements.empty() || m_replacements.back() != '\0')
        fail("replacements that end in NUL", std::to_string(m_replacements.size()) + " bytes that do not");
    try {
        requireUtf8(m_replacements, "a replacement");
    } catch (const InputError& error) {
        fail("replacements in UTF-8", error.what());
    }

    // Every unit that a lookup can reach, with the 256 behind it that it may look at, must lie inside. Equal endings
    // are shared, so units are reached on several ways, but never in a circle. Depth first; nested[p]: how many entries
    // end on the longest way from p on.
    enum State : char { New, Open, Done };
    std::vector<State> state(m_units.size(), New);
    std::vector<int> nested(m_units.size(), 0);
    struct Visit {
        std::size_t position;
        std::uint32_t label; // the next one to try
    };
    std::vector<Visit> way;
    const auto baseOf = [&](std::size_t position) { return position ^ Unit { m_units[position] }.offset(); };
    const auto enter = [&](std::size_t position) {
        const std::size_t base = baseOf(position);
        if ((base | 0xFF) >= m_units.size())
            fail("offsets below " + std::to_string(m_units.size()), std::to_string(base));
        if (Unit{m_units[position]}.hasLeaf()) {
            const std::size_t value = Unit{m_units[base]}.value();
            if (value >= m_replacements.size())
                fail("replacements at offsets below " + std::to_string(m_replacements.size()), std::to_string(value));
        }
        state[position] = Open;
        way.push_back({position, 1});
    };
    enter(0);
    while (!way.empty()) {
        const std::size_t position = way.back().position;
        if (way.back().label < 256) {
            const std::uint32_t label = way.back().label++;
            const std::size_t child = baseOf(position) ^ label;
            if (Unit{m_units[child]}.label() != label)
                continue;
            if (state[child] == Open)
                fail("a trie", "a circle at unit " + std::to_string(child));
            if (state[child] == New) {
                enter(child);
                --way[way.size() - 2].label; // look at it again when it is done
            } else {
                nested[position] = std::max(nested[position], nested[child]);
            }
            continue;
        }
        nested[position] += Unit{m_units[position]}.hasLeaf() ? 1 : 0;
        if (nested[position] > maxNested)
            fail("at most " + std::to_string(maxNested) + " entries that begin each other", "more");
        state[position] = Done;
        way.pop_back();
    }
}

std::optional<std::string_view> CharsMap::replacement(std::string_view text) const {
    std::size_t base = Unit{m_units[0]}.offset();
    for (const char c : text) {
        const auto label = static_cast<unsigned char>(c);
        const std::size_t position = base ^ label;
        const Unit unit{m_units[position]};
        if (label == 0 || unit.label() != label)
            return std::nullopt;
        base = position ^ unit.offset();
        if (unit.hasLeaf()) // ends at the NUL, which the constructor has seen
            return std::string_view(m_replacements.c_str() + Unit{m_units[base]}.value());
    }
    return std::nullopt;
}

} // namespace headscope
