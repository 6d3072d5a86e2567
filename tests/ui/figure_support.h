// What the tests of figures share: sentences, traces of the toy, numbers and colours to compare with.
#pragma once

#include "core/attention/head_stages.h"
#include "core/attention/mask.h"
#include "core/attention/scenario.h"
#include "core/tensor/errors.h"
#include "ui/render/color_tables.h"
#include "ui/render/figure.h"
#include "ui/render/figure_export.h"

#include <QtTest>

#include <string>

namespace headscope::testing {

inline std::string wordsOf(int n) {
    static const char* const words[] = {
        "the",    "first", "animal", "did", "not", "cross", "street", "because", "it", "was", "internationalization",
        "office", "."};
    std::string text;
    for (int i = 0; i < n; ++i)
        text += std::string(words[(i * 7 + i / 5) % 13]) + ' ';
    return text;
}

inline FigureSource toyFigure(const std::string& text, std::optional<std::string> pair = {},
                              std::string_view mask = "none", RuleSet rules = {}) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.source.cross = pair.has_value();
    request.text = text;
    request.pair = std::move(pair);
    request.mask = parseMask(mask);
    request.rules = rules;
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    if (rules.any()) {
        request.rules = {};
        source.rightTrace = trace(makeScenario(request), referenceBackend());
    }
    return source;
}

// Numbers with every sign and size that a head has, different in each cell.
inline Matrix ramp(int rows, int cols, bool isSigned) {
    Matrix m(rows, cols);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) {
            const float t = static_cast<float>((r * 37 + c * 101) % 257) / 256.0F;
            m(r, c) = isSigned ? 2 * t - 1 : t;
        }
    return m;
}

inline QRgb tableColor(const ColorTable& table, double t) {
    return 0xff000000U | table[static_cast<std::size_t>(255 * t + 0.5)];
}

template<class F>
std::string refusal(F f) {
    try {
        f();
    } catch (const InputError& e) {
        return e.what();
    }
    return {};
}

inline bool overlap(const QRectF& a, const QRectF& b) {
    const QRectF both = a & b;
    return both.width() > 0.75 && both.height() > 0.75; // boxes of text include the air above and below letters
}

} // namespace headscope::testing
