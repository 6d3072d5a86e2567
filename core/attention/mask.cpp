#include "core/attention/mask.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headscope {

namespace {

constexpr const char* known = "none, causal, window:W, prefix:P, padding:K, model, or a file, joined by +";

MaskPart parsePart(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    using enum MaskPart::Kind;
    for (const auto& [kind, word] : {std::pair{None, "none"}, {Causal, "causal"}, {Model, "model"}})
        if (text == word)
            return {kind, 0, nullptr};
    for (const auto& [kind, word] : {std::pair{Window, "window"}, {Prefix, "prefix"}, {Padding, "padding"}}) {
        if (name != word)
            continue;
        const std::string_view digits = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
        int size = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
        if (error != std::errc{} || end != digits.data() + digits.size() || size < 0)
            throw InputError("mask '" + std::string(text) + "': expected " + word +
                             ":N with a whole number N >= 0, found '" + std::string(digits) + "'");
        return {kind, size, nullptr};
    }
    throw InputError("mask '" + std::string(text) + "' is unknown: expected " + known);
}

std::string shape(int rows, int cols) {
    return std::to_string(rows) + " x " + std::to_string(cols);
}

} // namespace

Mask parseMask(std::string_view text) {
    Mask mask{{}};
    while (true) {
        const std::size_t plus = text.find('+');
        mask.parts.push_back(parsePart(text.substr(0, plus)));
        if (plus == std::string_view::npos)
            return mask;
        text.remove_prefix(plus + 1);
    }
}

std::string maskName(const Mask& mask) {
    std::string name;
    for (const MaskPart& part : mask.parts) {
        using enum MaskPart::Kind;
        const std::string size = ":" + std::to_string(part.size);
        const std::string word = part.kind == None      ? "none"
                                 : part.kind == Causal  ? "causal"
                                 : part.kind == Window  ? "window" + size
                                 : part.kind == Prefix  ? "prefix" + size
                                 : part.kind == Padding ? "padding" + size
                                 : part.kind == Model   ? "model"
                                                        : "file";
        name += (name.empty() ? "" : "+") + word;
    }
    return name.empty() ? "none" : name;
}

Matrix additiveFromNumbers(const Matrix& numbers, bool isFlags) {
    const bool onlyFlags =
        isFlags || std::ranges::all_of(numbers.values(), [](float v) { return v == 0.0F || v == 1.0F; });
    Matrix out = numbers;
    for (int r = 0; r < out.rows(); ++r)
        for (float& v : out.row(r)) {
            if (std::isnan(v) || v == -KeyMask::minusInfinity)
                throw InputError("the mask has " + std::string(std::isnan(v) ? "nan" : "inf") + " in row " +
                                 std::to_string(r) + ": expected 0 and 1, or numbers to add (-inf closes a cell)");
            if (onlyFlags)
                v = v != 0.0F ? 0.0F : KeyMask::minusInfinity;
        }
    return out;
}

KeyMask resolveMask(const Mask& mask, ModelMask model, int n, int m) {
    KeyMask out;
    out.open.assign(static_cast<std::size_t>(n), {0, m});
    for (const MaskPart& part : mask.parts) {
        using enum MaskPart::Kind;
        if (part.kind == Padding && part.size > m)
            throw InputError("mask padding:" + std::to_string(part.size) +
                             " closes more keys than there are: expected 0 to " + std::to_string(m));
        const bool causal = part.kind == Causal || (part.kind == Model && model.causal);
        for (int i = 0; i < n; ++i) {
            KeyMask::Range& open = out.open[static_cast<std::size_t>(i)];
            if (causal)
                open.end = std::min(open.end, i + 1);
            if (part.kind == Model && model.slidingWindow > 0)
                open.begin = std::max(open.begin, i - model.slidingWindow + 1);
            if (part.kind == Window) { // |i - j| <= W
                open.begin =
                    std::max(open.begin, static_cast<int>(std::max<std::int64_t>(0, std::int64_t{i} - part.size)));
                open.end = static_cast<int>(std::min<std::int64_t>(open.end, std::int64_t{i} + part.size + 1));
            }
            if (part.kind == Prefix) // j <= i or j < P
                open.end = std::min(open.end, std::max(i + 1, part.size));
            if (part.kind == Padding)
                open.end = std::min(open.end, m - part.size);
        }
        if (part.kind == Matrix) {
            const headscope::Matrix& a = *part.additive;
            if (a.rows() != n || a.cols() != m)
                throw InputError("the mask is " + shape(a.rows(), a.cols()) + ": expected " + shape(n, m) +
                                 " (queries x keys) for this text");
            if (!out.additive) {
                out.additive = part.additive;
                continue;
            }
            headscope::Matrix sum = *out.additive;
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < m; ++j)
                    sum(i, j) += a(i, j); // -inf + finite stays -inf; +inf never gets in
            out.additive = share(std::move(sum));
        }
    }
    for (KeyMask::Range& open : out.open)
        if (open.begin >= open.end)
            open = {0, 0}; // a window may have begun behind the last key
    return out;
}

} // namespace headscope
