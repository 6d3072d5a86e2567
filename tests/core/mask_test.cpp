// A mask's parts mean what PRODUCT says: for every cell of several shapes, by the formula itself.
#include "core/attention/mask.h"

#include "core/tensor/errors.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

#include <functional>

namespace headscope::testing {
namespace {

constexpr float closed = KeyMask::minusInfinity;

void expectOpenWhere(const std::string& text, const std::function<bool(int i, int j, int m)>& isOpen,
                     bool modelIsCausal = false) {
    for (const auto& [n, m] : {std::pair{1, 1}, std::pair{5, 5}, std::pair{3, 7}, std::pair{7, 3}}) {
        const KeyMask mask = resolveMask(parseMask(text), ModelMask{.causal = modelIsCausal}, n, m);
        ASSERT_EQ(mask.open.size(), static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) {
            const KeyMask::Range range = mask.open[static_cast<std::size_t>(i)];
            EXPECT_TRUE(range.begin >= 0 && range.begin <= range.end && range.end <= m) << text << " row " << i;
            for (int j = 0; j < m; ++j) {
                EXPECT_EQ(mask.isOpen(i, j), isOpen(i, j, m))
                    << text << " " << n << " x " << m << " [" << i << ", " << j << "]";
            }
        }
    }
}

TEST(Masks, OpenWhereTheirFormulaSays) {
    expectOpenWhere("none", [](int, int, int) { return true; });
    expectOpenWhere("causal", [](int i, int j, int) { return j <= i; });
    expectOpenWhere("window:0", [](int i, int j, int) { return i == j; });
    expectOpenWhere("window:2", [](int i, int j, int) { return std::abs(i - j) <= 2; });
    expectOpenWhere("window:2147483647", [](int, int, int) { return true; });
    expectOpenWhere("prefix:2", [](int i, int j, int) { return j <= i || j < 2; });
    expectOpenWhere("padding:1", [](int, int j, int m) { return j < m - 1; });
    expectOpenWhere(
        "model", [](int, int, int) { return true; }, false);
    expectOpenWhere(
        "model", [](int i, int j, int) { return j <= i; }, true);
}

TEST(Masks, JoinedPartsOpenWhatEveryPartAllows) {
    expectOpenWhere("causal+window:1", [](int i, int j, int) { return j <= i && i - j <= 1; });
    expectOpenWhere("prefix:3+padding:1", [](int i, int j, int m) { return (j <= i || j < 3) && j < m - 1; });
    expectOpenWhere(
        "model+window:1", [](int i, int j, int) { return j <= i && i - j <= 1; }, true);
}

TEST(Masks, NamesReadBackAsTheyWereWritten) {
    for (const char* text :
         {"none", "causal", "model", "window:3", "prefix:2", "padding:4", "causal+window:3+padding:1"}) {
        EXPECT_EQ(maskName(parseMask(text)), text);
        EXPECT_EQ(parseMask(maskName(parseMask(text))), parseMask(text));
    }
}

TEST(Masks, ThatMakeNoSenseAreRefused) {
    for (const char* text : {"", "casual", "window", "window:", "window:-1", "window:2x", "window:99999999999",
                             "causal+", "+causal", "causal++none", "causal:3", "padding:1.5"}) {
        EXPECT_THROW(parseMask(text), InputError) << text;
    }
    EXPECT_THROW(resolveMask(parseMask("padding:6"), ModelMask{}, 5, 5), InputError);
}

TEST(Masks, FlagsFromAFileOpenAndOtherNumbersAreAdded) {
    Matrix flags(2, 2);
    flags(0, 1) = 1.0F;
    const Matrix open = additiveFromNumbers(flags, false); // only 0 and 1
    EXPECT_EQ(open(0, 0), closed);
    EXPECT_EQ(open(0, 1), 0.0F);
    Matrix numbers = flags;
    numbers(1, 1) = -2.5F;
    EXPECT_EQ(additiveFromNumbers(numbers, false), numbers);   // one other number: all are added
    EXPECT_EQ(additiveFromNumbers(numbers, true)(1, 1), 0.0F); // integers: anything but 0 is open
    numbers(1, 0) = closed;
    EXPECT_EQ(additiveFromNumbers(numbers, false)(1, 0), closed);
    numbers(1, 0) = NAN;
    EXPECT_THROW(additiveFromNumbers(numbers, false), InputError);
    numbers(1, 0) = INFINITY;
    EXPECT_THROW(additiveFromNumbers(numbers, false), InputError);
}

TEST(Masks, AddedNumbersSumAndMeetTheOtherParts) {
    Matrix a(3, 3, 0.5F), b(3, 3, -2.0F);
    b(2, 0) = closed;
    Mask mask = parseMask("causal");
    mask.parts.push_back({MaskPart::Kind::Matrix, 0, share(a)});
    mask.parts.push_back({MaskPart::Kind::Matrix, 0, share(b)});
    const KeyMask k = resolveMask(mask, ModelMask{}, 3, 3);
    EXPECT_EQ((*k.additive)(1, 0), -1.5F);
    EXPECT_FALSE(k.isOpen(2, 0));
    EXPECT_FALSE(k.isOpen(0, 1));
    EXPECT_TRUE(k.isOpen(1, 0));
}

TEST(Masks, OfAnotherSizeAreRefusedWithBothSizes) {
    Mask mask;
    mask.parts = {{MaskPart::Kind::Matrix, 0, share(Matrix(2, 3))}};
    try {
        resolveMask(mask, ModelMask{}, 4, 5);
        FAIL() << "accepted";
    } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("2 x 3"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("4 x 5"), std::string::npos) << e.what();
    }
}

TEST(Masks, AFullyMaskedRowIsZeroAndFlaggedInEveryHead) {
    ToyOptions o;
    o.layers = 2;
    Scenario s = toy(o, "a b c d e");
    s.mask = parseMask("window:1+padding:3"); // rows 3 and 4 see nothing
    for (const double temperature : {1.0, 0.0, static_cast<double>(INFINITY), 1e-30}) {
        s.temperature = temperature;
        const SharedTrace t = run(s);
        for (int l = 0; l < 2; ++l) {
            EXPECT_EQ(t->layer(LayerIndex{l}).emptyRows, (std::vector<bool>{false, false, false, true, true}));
            for (int h = 0; h < 8; ++h) {
                const Matrix a = stageOf(t, Stage::Weights, h, l), out = stageOf(t, Stage::HeadOutput, h, l);
                EXPECT_FALSE(hasNaN(a));
                EXPECT_FALSE(hasNaN(stageOf(t, Stage::Output, h, l)));
                for (const int row : {3, 4}) {
                    EXPECT_TRUE(std::ranges::all_of(a.row(row), [](float w) { return w == 0.0F; }));
                    EXPECT_TRUE(std::ranges::all_of(out.row(row), [](float v) { return v == 0.0F; }));
                    EXPECT_TRUE(std::ranges::all_of(stageOf(t, Stage::Masked, h, l).row(row),
                                                    [](float v) { return v == closed; }));
                }
            }
        }
    }
}

} // namespace
} // namespace headscope::testing
