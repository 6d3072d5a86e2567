#include "ui/render/color_scale.h"

#include "core/analysis/extent.h"
#include "ui/render/color_tables.h"
#include "ui/render/figure_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace headscope {
namespace {

const ColorTable& tableOf(ColorMap map) {
    switch (map) {
    case ColorMap::Viridis:
        return viridisTable;
    case ColorMap::Cividis:
        return cividisTable;
    case ColorMap::Magma:
        return magmaTable;
    case ColorMap::Inferno:
        return infernoTable;
    case ColorMap::Gray:
        return grayTable;
    }
    return viridisTable;
}

// Entry of the table (0..255) -> code. For signed scales entries are ordered by their distance from the middle, the
// positive side winning ties, so that pooling by the plain maximum of codes is pooling by magnitude.
ColorScale::Code codeOfEntry(int entry, bool isSigned) {
    if (!isSigned)
        return static_cast<ColorScale::Code>(entry + 1);
    return static_cast<ColorScale::Code>(entry >= 128 ? 2 * (entry - 128) + 2 : 2 * (127 - entry) + 1);
}

Extent extentOfAll(std::span<const MatrixView> matrices) {
    Extent all;
    for (const MatrixView& m : matrices) {
        const Extent one = finiteExtent(m);
        all = {std::min(all.lo, one.lo), std::max(all.hi, one.hi)};
    }
    return all;
}

// The value that P percent of the finite values do not exceed (signed: of their magnitudes).
double percentile(std::span<const MatrixView> matrices, double percent, bool isSigned) {
    std::vector<float> values;
    for (const MatrixView& m : matrices)
        for (int r = 0; r < m.rows; ++r)
            for (float v : m.row(r))
                if (std::isfinite(v))
                    values.push_back(isSigned ? std::abs(v) : v);
    if (values.empty())
        return 1;
    const double place = std::clamp(percent, 0.0, 100.0) / 100.0 * static_cast<double>(values.size() - 1);
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::llround(place));
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

ValueRange rangeAbout(Extent e, bool isSigned) {
    if (e.empty())
        return isSigned ? ValueRange{-1, 1} : ValueRange{0, 1};
    if (isSigned) {
        const double top = std::max(std::abs(e.lo), std::abs(e.hi));
        return top > 0 ? ValueRange{-top, top} : ValueRange{-1, 1};
    }
    if (e.lo < e.hi)
        return {e.lo, e.hi};
    // One value alone: it is the top of a range from 0, or stands in the middle of one.
    if (e.hi > 0)
        return {0, e.hi};
    return e.hi < 0 ? ValueRange{e.lo, 0} : ValueRange{0, 1};
}

QString number(double v) {
    return QString::number(v, 'g', 6);
}

} // namespace

ResolvedRange resolveRange(const RangeSpec& spec, const Curve& curve, ValueKind kind, std::span<const MatrixView> shown,
                           std::span<const MatrixView> all) {
    ResolvedRange out;
    if (spec.kind == RangeSpec::Kind::Fixed) {
        out.range = {spec.lo, spec.hi};
        out.caption = FigureText::tr("fixed range %1 to %2").arg(number(spec.lo), number(spec.hi));
    } else if (spec.kind == RangeSpec::Kind::Auto && kind.isWeights) {
        out.range = {0, 1};
        out.caption = FigureText::tr("fixed range 0 to 1");
    } else {
        const bool shared = spec.kind == RangeSpec::Kind::Shared && !all.empty();
        out.range = rangeAbout(extentOfAll(shared ? all : shown), kind.isSigned);
        const QString whose = shared             ? FigureText::tr("all heads of the layer")
                              : shown.size() > 1 ? FigureText::tr("the heads shown")
                                                 : FigureText::tr("this matrix");
        out.caption = kind.isSigned ? FigureText::tr("plus or minus the largest magnitude of ") + whose
                                    : FigureText::tr("smallest to largest value of ") + whose;
    }
    if (curve.kind == Curve::Kind::Percentile) {
        const bool shared = spec.kind == RangeSpec::Kind::Shared && !all.empty();
        const double top = percentile(shared ? all : shown, curve.parameter, kind.isSigned);
        if (kind.isSigned && top > 0)
            out.range = {std::max(out.range.lo, -top), std::min(out.range.hi, top)};
        else if (!kind.isSigned && top > out.range.lo)
            out.range.hi = std::min(out.range.hi, top);
        out.caption += FigureText::tr(", cut at percentile %1").arg(number(curve.parameter));
    } else if (curve.kind == Curve::Kind::Gamma) {
        out.caption += FigureText::tr(", gamma %1").arg(number(curve.parameter));
    } else if (curve.kind == Curve::Kind::Row) {
        out.caption = kind.isSigned ? FigureText::tr("plus or minus each row's own largest magnitude")
                                    : FigureText::tr("up to each row's own maximum");
    }
    return out;
}

ColorScale::ColorScale(ColorMap map, bool isSigned, ValueRange range, Curve curve)
    : m_signed(isSigned), m_range(range), m_curve(curve) {
    const ColorTable& table = isSigned ? puorTable : tableOf(map);
    m_colors[masked] = maskedColor();
    m_colors[nan] = nanColor();
    for (int entry = 0; entry < 256; ++entry)
        m_colors[codeOfEntry(entry, isSigned)] = 0xff000000U | table[static_cast<std::size_t>(entry)];

    const bool gamma = curve.kind == Curve::Kind::Gamma && curve.parameter > 0;
    const auto bend = [&](double t) { return gamma ? std::pow(t, curve.parameter) : t; };
    for (std::size_t i = 0; i < m_bent.size(); ++i) {
        double t = static_cast<double>(i) / 4096.0;
        if (isSigned) // bent away from 0 on both sides
            t = t >= 0.5 ? 0.5 + 0.5 * bend(2 * t - 1) : 0.5 - 0.5 * bend(1 - 2 * t);
        else
            t = bend(t);
        m_bent[i] = static_cast<std::uint8_t>(std::lround(255.0 * t));
    }
}

double ColorScale::rowTop(std::span<const float> row) const {
    if (m_curve.kind != Curve::Kind::Row)
        return m_range.hi;
    float top = m_signed ? 0.0F : -std::numeric_limits<float>::infinity();
    for (float v : row)
        if (std::isfinite(v))
            top = std::max(top, m_signed ? std::abs(v) : v);
    return std::isfinite(top) ? top : m_range.hi;
}

// What is the same for all numbers of a row, worked out once.
struct ColorScale::Coder {
    const ColorScale& scale;
    bool isBent, isSigned;
    double lo, hi;              // values outside count as these
    double base, slope, offset; // place in the table, 0..1: (value - base) * slope + offset

    Coder(const ColorScale& s, double rowTop)
        : scale(s), isBent(s.m_curve.kind == Curve::Kind::Gamma), isSigned(s.m_signed) {
        const bool byRow = s.m_curve.kind == Curve::Kind::Row;
        double least = s.m_range.lo, most = byRow ? rowTop : s.m_range.hi, perUnit = 0;
        if (isSigned) {
            // 0 is always the middle of the table, whatever the range: with 2..5 only its purple half is used.
            const double top = byRow ? rowTop : std::max(std::abs(s.m_range.lo), std::abs(s.m_range.hi));
            least = byRow ? -top : least;
            perUnit = top > 0 ? 0.5 / top : 0.0;
        } else {
            least = byRow ? std::min(least, rowTop) : least;
            perUnit = most > least ? 1.0 / (most - least) : 0.0; // a row of one value, as a fully masked one
        }
        lo = least;
        hi = std::max(lo, most);
        base = isSigned ? 0.0 : lo;
        slope = perUnit;
        offset = isSigned ? 0.5 : 0.0;
    }

    double placeOf(double value) const {
        const double v = value < lo ? lo : value > hi ? hi : value;
        const double t = (v - base) * slope + offset;
        return t > 0 ? (t < 1 ? t : 1.0) : 0.0; // NaN is 0, until special() says what it is
    }
    // Without a branch, so that a loop over it takes several numbers in one instruction.
    Code straight(float value) const {
        const int entry = static_cast<int>(255.0 * placeOf(value) + 0.5);
        const int up = 2 * (entry - 128) + 2, down = 2 * (127 - entry) + 1;
        const int code = !isSigned ? entry + 1 : entry >= 128 ? up : down;
        return static_cast<Code>(special(value, code));
    }
    Code bent(float value) const {
        const auto place = static_cast<std::size_t>(4096.0 * placeOf(value) + 0.5);
        return static_cast<Code>(special(value, codeOfEntry(scale.m_bent[place], isSigned)));
    }
    static int special(float value, int code) {
        const int open = value == -std::numeric_limits<float>::infinity() ? int{masked} : code;
        return value != value ? int{nan} : open;
    }
    Code operator()(float value) const { return isBent ? bent(value) : straight(value); }
};

ColorScale::Code ColorScale::code(float value, double rowTop) const {
    return Coder(*this, rowTop)(value);
}

void ColorScale::codesOf(std::span<const float> row, Code* out) const {
    const Coder coder(*this, rowTop(row));
    if (coder.isBent)
        std::ranges::transform(row, out, [&](float v) { return coder.bent(v); });
    else
        for (std::size_t i = 0; i < row.size(); ++i)
            out[i] = coder.straight(row[i]);
}

int ColorScale::cut(float value) const {
    if (std::isnan(value) || value == -std::numeric_limits<float>::infinity() || m_curve.kind == Curve::Kind::Row)
        return 0;
    // Ranges are doubles typed by people, values are floats: 0.1F above 0.1 is not a cut.
    if (value < static_cast<float>(m_range.lo))
        return -1;
    return value > static_cast<float>(m_range.hi) ? 1 : 0;
}

QRgb ColorScale::inkOn(QRgb background) {
    const auto linear = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double luminance =
        0.2126 * linear(qRed(background)) + 0.7152 * linear(qGreen(background)) + 0.0722 * linear(qBlue(background));
    // Contrast against white is 1.05 / (L + 0.05), against black (L + 0.05) / 0.05.
    return 1.05 * 0.05 > (luminance + 0.05) * (luminance + 0.05) ? qRgb(255, 255, 255) : qRgb(16, 16, 20);
}

} // namespace headscope
