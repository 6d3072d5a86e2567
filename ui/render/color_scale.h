// ColorScale: the one way from a number to a colour, computed once from (map, range, curve); resolveRange: which range
// is meant. Not here: painting. Callers: matrix_painter, the figures, thumbnails, token chips.
#pragma once

#include "core/attention/view.h"
#include "core/tensor/matrix.h"

#include <QRgb>
#include <QString>
#include <array>
#include <cstdint>
#include <span>

namespace headscope {

struct ValueRange {
    double lo = 0, hi = 1; // lo < hi
    bool operator==(const ValueRange&) const = default;
};

// A range with the words that tell a reader where it comes from: "all heads of the layer".
struct ResolvedRange {
    ValueRange range;
    QString caption;
};

// What kind of numbers a matrix holds decides its automatic range and its colours.
struct ValueKind {
    bool isWeights = false; // auto is 0..1
    bool isSigned = false;  // diverging about 0
};

// shown: the matrices in the picture. all: all heads of the layer (grid: of the figure), read for `shared` only; empty:
// shown. Finite values only. Never fails: without any finite value it is 0..1, signed -1..1; one value alone gets a
// range about it.
ResolvedRange resolveRange(const RangeSpec& spec, const Curve& curve, ValueKind kind, std::span<const MatrixView> shown,
                           std::span<const MatrixView> all = {});

class ColorScale {
public:
    // A code is what a number becomes before it has a colour. Codes are ordered so that the larger one wins where
    // several cells share a pixel: larger values, for signed scales larger magnitudes, and NaN before all.
    using Code = std::uint16_t;
    static constexpr Code masked = 0, nan = 257;
    static constexpr int codeCount = 258;

    ColorScale() : ColorScale(ColorMap::Viridis, false, {}) {}
    ColorScale(ColorMap map, bool isSigned, ValueRange range, Curve curve = {});

    bool isSigned() const { return m_signed; }
    const ValueRange& range() const { return m_range; }
    const Curve& curve() const { return m_curve; }

    // The colour of a number; with the `row` curve, of a number in a row whose maximum (signed: largest magnitude) is
    // rowTop.
    QRgb color(float value) const { return colorOf(code(value, m_range.hi)); }
    QRgb color(float value, double rowTop) const { return colorOf(code(value, rowTop)); }
    Code code(float value, double rowTop) const;
    // Of a whole row of a matrix: out has as many entries.
    void codesOf(std::span<const float> row, Code* out) const;
    QRgb colorOf(Code code) const { return m_colors[code]; }
    // rowTop for the `row` curve; range().hi for all others.
    double rowTop(std::span<const float> row) const;

    // -1: below the range, +1: above it, 0: inside. -inf is masked, not cut; NaN is neither.
    int cut(float value) const;
    // White or black, whichever is read more easily on the colour (WCAG relative luminance).
    static QRgb inkOn(QRgb background);
    // The colour that closed cells have under their hatching, and the one of NaN, which no table contains.
    static QRgb maskedColor() { return qRgb(0xe4, 0xe6, 0xea); }
    static QRgb hatchColor() { return qRgb(0xa9, 0xaf, 0xb8); }
    static QRgb nanColor() { return qRgb(0xff, 0x00, 0xe0); }

private:
    struct Coder;
    bool m_signed;
    ValueRange m_range;
    Curve m_curve;
    std::array<QRgb, codeCount> m_colors;
    std::array<std::uint8_t, 4097> m_bent; // gamma: position in the range (in 1/4096) -> entry of the table
};

} // namespace headscope
