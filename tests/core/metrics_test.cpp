// Head metrics are the means they say they are, and a label is earned against what chance would give.
#include "core/analysis/extent.h"
#include "core/analysis/metrics.h"
#include "core/backend/kernels/kernels.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

#include <limits>

namespace headscope::testing {
namespace {

const char* sentence = "the cat and the dog saw the cat , and ran .";

std::vector<std::string> labels(const Scenario& scenario) {
    std::vector<std::string> out;
    for (const HeadMetrics& m : allHeadMetrics(*run(scenario))) {
        out.push_back(m.label);
    }
    return out;
}

// The mean over the rows i for which keyOf(i) is a key of the text; written without the blocks of the real one.
template<class KeyOf>
double meanShare(const Matrix& a, const std::vector<bool>& empty, const KeyOf& keyOf) {
    double sum = 0;
    int rows = 0;
    for (int i = 0; i < a.rows(); ++i) {
        const int j = keyOf(i);
        if (!empty[static_cast<std::size_t>(i)] && j >= 0 && j < a.cols()) {
            sum += a(i, j);
            ++rows;
        }
    }
    return rows == 0 ? 0.0 : sum / rows;
}

TEST(Metrics, AreTheMeansTheySayTheyAre) {
    std::string longText; // several blocks of rows
    for (int i = 0; i < 150; ++i) {
        longText += "w" + std::to_string(i % 40) + " ";
    }
    ToyOptions o;
    o.position = Position::Learned;
    Scenario masked = toy(o, sentence);
    masked.mask = parseMask("causal+padding:9"); // row 0..2 as ever, later rows see keys 0..2 only
    Scenario closed = toy(o, sentence);
    closed.mask = parseMask("prefix:0+window:1+padding:8"); // rows 5 and later are fully masked
    for (const Scenario& s : {toy(o, sentence), toy(o, longText), masked, closed, crossToy(o, "a cat sat", sentence),
                              withRule(toy(o, sentence), Rule::AverageHeads), withRule(masked, Rule::SoftmaxQueries)}) {
        const SharedTrace t = run(s);
        const std::vector<bool>& empty = t->layer(LayerIndex{0}).emptyRows;
        for (const HeadMetrics& m : allHeadMetrics(*t)) {
            const Matrix a = stageOf(t, Stage::Weights, m.head.value);
            double entropy = 0, distance = 0, concentration = 0;
            int rows = 0;
            for (int i = 0; i < a.rows(); ++i) {
                if (empty[static_cast<std::size_t>(i)]) {
                    continue;
                }
                ++rows;
                concentration += *std::ranges::max_element(a.row(i));
                for (int j = 0; j < a.cols(); ++j) {
                    entropy -= a(i, j) > 0 ? a(i, j) * std::log2(static_cast<double>(a(i, j))) : 0;
                    distance += a(i, j) * static_cast<double>(std::abs(i - j));
                }
            }
            EXPECT_NEAR(m.entropy, entropy / rows, 1e-6);
            EXPECT_NEAR(m.distance, distance / rows, 1e-5);
            EXPECT_NEAR(m.concentration, concentration / rows, 1e-6);
            EXPECT_NEAR(m.self, meanShare(a, empty, [](int i) { return i; }), 1e-6);
            EXPECT_NEAR(m.previous, meanShare(a, empty, [](int i) { return i - 1; }), 1e-6);
            EXPECT_NEAR(m.next, meanShare(a, empty, [](int i) { return i + 1; }), 1e-6);
            EXPECT_NEAR(m.first, meanShare(a, empty, [](int) { return 0; }), 1e-6);
        }
    }
}

// Closed forms: a row of n equal weights has log2(n) bits, and the mean of |i - j| over a square is (n^2 - 1) / (3 n).
TEST(Metrics, OfPatternHeadsAreKnown) {
    const SharedTrace t = run(patterns("the cat and the dog ."));
    const double n = 6;
    const auto of = [&](int h) { return headMetrics(*t, LayerIndex{0}, HeadIndex{h}); };
    EXPECT_NEAR(of(4).entropy, std::log2(n), 1e-6);
    EXPECT_NEAR(of(4).distance, (n * n - 1) / (3 * n), 1e-6);
    EXPECT_NEAR(of(4).evenness, 1, 1e-6);
    EXPECT_NEAR(of(4).concentration, 1 / n, 1e-6);
    EXPECT_NEAR(of(0).entropy, 0, 1e-2);
    EXPECT_NEAR(of(0).previous, 1, 1e-3);
    EXPECT_NEAR(of(0).distance, (n - 1) / n, 1e-3); // the first token looks at itself
    EXPECT_NEAR(of(2).distance, (n - 1) / 2, 1e-3);
    EXPECT_NEAR(of(3).same, 0.5, 1e-3); // two copies of "the", each looks at both
    EXPECT_NEAR(of(5).previous, of(5).next, 1e-3);
    EXPECT_NEAR(of(6).separator, 1, 1e-3);
}

TEST(Metrics, InductionIsTheTokenAfterAnEarlierOccurrence) {
    // "a b a b c": row 2 (a) finds b at 1, row 3 (b) finds a at 2. Scores set so high that they get all the weight.
    Scenario s = toy({}, "a b a b c");
    for (const auto& [row, col] : {std::pair{2, 1}, std::pair{3, 2}}) {
        Intervention i;
        i.kind = Intervention::Kind::SetCell;
        i.stage = Stage::Scores;
        i.row = row;
        i.col = col;
        i.value = 1e4F;
        s.interventions.push_back(i);
    }
    EXPECT_NEAR(headMetrics(*run(s), LayerIndex{0}, HeadIndex{0}).induction, 1.0, 1e-6);
    s.interventions.pop_back();
    EXPECT_LT(headMetrics(*run(s), LayerIndex{0}, HeadIndex{0}).induction, 0.9);
    EXPECT_EQ(headMetrics(*run(toy({}, "a b c d")), LayerIndex{0}, HeadIndex{0}).induction, 0.0);
}

// In order: previous, next, first, same word, uniform, nearest neighbours (which has no label of its own), last
// separator.
TEST(Labels, EveryPatternHeadGetsItsOwnName) {
    const std::vector<std::string> own{"previous", "next", "first", "same word", "uniform", "none", "separator"};
    EXPECT_EQ(labels(patterns("The cat saw the dog and the dog saw the cat .")), own);
    EXPECT_EQ(labels(patterns("the cat and the dog .")), own);
    EXPECT_EQ(labels(patterns("She said : the book is in the library , and the key is in the book .")), own);
}

// Without a repeated word it looks at itself, and without a mark the first token is what separates.
TEST(Labels, SayWhatAPatternHeadDoesOnATextThatLacksItsSubject) {
    const std::vector<std::string> shown{"previous", "next", "first", "self", "uniform", "none", "first"};
    EXPECT_EQ(labels(patterns("The cat sat on the mat")), shown);
}

TEST(Labels, ARandomHeadOnSixWordsHasNone) {
    int labelled = 0, heads = 0;
    for (int seed = 1; seed <= 25; ++seed) {
        for (const char* mask : {"none", "causal"}) {
            ToyOptions o;
            o.seed = static_cast<std::uint64_t>(seed);
            o.position = Position::Learned;
            for (const char* text : {"The cat sat on the mat", "the cat and the dog ran"}) {
                Scenario s = toy(o, text);
                s.mask = parseMask(mask);
                for (const std::string& label : labels(s)) {
                    labelled += label == "none" ? 0 : 1;
                    ++heads;
                }
            }
        }
    }
    EXPECT_EQ(heads, 800);
    EXPECT_LE(labelled, 8) << "one in a hundred is luck";
}

TEST(Labels, ASingleTokenSaysNothing) {
    for (const std::string& label : labels(patterns("word"))) {
        EXPECT_EQ(label, "none");
    }
}

TEST(Labels, CrossAttentionHasNoLabelOfPosition) {
    // A head forced onto the diagonal of another text is no self head: i and j count in different texts.
    Scenario s = crossToy({}, "a b c d e", "v w x y z");
    for (int i = 0; i < 5; ++i) {
        Intervention cell;
        cell.kind = Intervention::Kind::SetCell;
        cell.stage = Stage::Scores;
        cell.row = cell.col = i;
        cell.value = 1e4F;
        s.interventions.push_back(cell);
    }
    const HeadMetrics m = headMetrics(*run(s), LayerIndex{0}, HeadIndex{0});
    EXPECT_NEAR(m.self, 1, 1e-6);
    EXPECT_EQ(m.label, "none");
}

TEST(Labels, HelpNamesEveryLabelThatThereIs) {
    const std::string help = labelHelp();
    for (const char* label : {"previous", "next", "first", "self", "same word", "induction", "separator", "uniform"}) {
        EXPECT_NE(help.find(std::string("\n  ") + label), std::string::npos) << label;
    }
}

} // namespace

TEST(Extent, IsOfTheFiniteNumbersOnEveryProcessor) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::string before = kernels().isa;
    for (const std::string_view isa : isas()) {
        chooseIsa(isa);
        for (const int cols : {1, 7, 16, 33, 200}) {
            SCOPED_TRACE(std::string(isa) + " " + std::to_string(cols));
            Matrix m(3, cols, 0.5F);
            m(0, 0) = -2.0F;
            m(2, cols - 1) = 3.0F;
            m(1, cols / 2) = nan;
            EXPECT_EQ(finiteExtent(m).lo, -2.0F);
            EXPECT_EQ(finiteExtent(m).hi, 3.0F);
            m(0, 0) = -inf;
            m(2, cols - 1) = inf;
            if (cols > 1) {
                EXPECT_EQ(finiteExtent(m).lo, 0.5F);
                EXPECT_EQ(finiteExtent(m).hi, 0.5F);
            }
            EXPECT_TRUE(finiteExtent(Matrix(2, cols, nan)).empty());
        }
        // Rows of a band, with larger numbers beside it.
        Matrix wide(4, 40, 100.0F);
        for (int r = 0; r < 4; ++r)
            for (int c = 3; c < 20; ++c)
                wide(r, c) = static_cast<float>(r + c);
        EXPECT_EQ(finiteExtent(MatrixView(wide).colRange(3, 20)).lo, 3.0F);
        EXPECT_EQ(finiteExtent(MatrixView(wide).colRange(3, 20)).hi, 22.0F);
    }
    chooseIsa(before);
}

} // namespace headscope::testing
