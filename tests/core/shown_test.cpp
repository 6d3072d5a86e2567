#include "core/analysis/shown.h"
#include "core/analysis/shown_cell.h"

#include "core/tensor/errors.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headscope {
namespace {

using namespace testing;

SharedTrace mini() {
    static const SharedTrace trace = run(makeScenario(requestOf("mini", "The unbelievable catfish doesn't sleep")));
    return trace;
}

View viewOf(Special special, bool words, Stage stage = Stage::Weights) {
    View view;
    view.special = special;
    view.words = words;
    view.stage = stage;
    return view;
}

ShownStage shown(const SharedTrace& t, const View& view, int layer = 2, int head = 3) {
    return shownStage(*t, LayerIndex{layer}, HeadIndex{head}, view.stage, view);
}

double rowSum(const Matrix& m, int row) {
    return std::accumulate(m.row(row).begin(), m.row(row).end(), 0.0);
}

std::vector<std::string> labels(const ShownAxis& axis) {
    std::vector<std::string> out;
    for (const ShownAxis::Place& place : axis.places)
        out.push_back(place.label);
    return out;
}

TEST(Shown, PiecesBecomeTheWordsThatWereTyped) {
    EXPECT_EQ(labels(shown(mini(), viewOf(Special::Hide, true)).rows),
              (std::vector<std::string>{"the", "unbelievable", "catfish", "doesn't", "sleep"}));
    const SharedTrace story = run(makeScenario(requestOf("story", "Tom saw Lily and she gave Tom the ball.")));
    EXPECT_EQ(labels(shown(story, viewOf(Special::Hide, true), 0, 0).rows),
              (std::vector<std::string>{"Tom", "saw", "Lily", "and", "she", "gave", "Tom", "the", "ball", "."}));
}

TEST(Shown, RowsOfWordsSumToOne) {
    for (const Special special : {Special::Show, Special::Drop}) {
        const ShownStage words = shown(mini(), viewOf(special, true));
        ASSERT_LT(words.rows.size(), mini()->scenario.queries() - (special == Special::Drop ? 2 : 0));
        for (int r = 0; r < words.rows.size(); ++r)
            EXPECT_NEAR(rowSum(*words.matrix, r), 1, 1e-6);
    }
}

TEST(Shown, AWordIsTheSumOverItsKeysAndTheMeanOverItsQueries) {
    const Matrix pieces = stageOf(mini(), Stage::Weights, 3, 2);
    const ShownStage words = shown(mini(), viewOf(Special::Show, true));
    const std::vector<int>&queries = words.rows.places[4].tokens, &keys = words.cols.places[3].tokens;
    ASSERT_GT(queries.size() * keys.size(), 2U);
    double sum = 0;
    for (const int i : queries)
        for (const int j : keys)
            sum += static_cast<double>(pieces(i, j));
    EXPECT_NEAR((*words.matrix)(4, 3), sum / static_cast<double>(queries.size()), 1e-7);
}

// The terms of a word are what its shown number is made of.
TEST(Shown, AWordOpensItsOwnArithmetic) {
    int several = 0;
    for (const Special special : {Special::Show, Special::Drop}) {
        const View view = viewOf(special, true);
        const ShownStage words = shown(mini(), view);
        for (int r = 0; r < words.rows.size(); ++r)
            for (int c = 0; c < words.cols.size(); ++c) {
                const ShownAxis::Place &query = words.rows.places[static_cast<std::size_t>(r)],
                                       &key = words.cols.places[static_cast<std::size_t>(c)];
                const auto shownWeight = explainShownWeight(*mini(), LayerIndex{2}, HeadIndex{3}, view,
                                                            query.tokens.back(), key.tokens.front());
                const std::size_t pairs = query.tokens.size() * key.tokens.size();
                ASSERT_EQ(shownWeight.has_value(), pairs > 1 || special == Special::Drop);
                if (!shownWeight)
                    continue;
                const CellExplanation* e = &shownWeight->arithmetic;
                EXPECT_EQ(shownWeight->query, query.label);
                several += pairs > 1;
                EXPECT_EQ(e->terms.size(), pairs);
                EXPECT_EQ(e->value, (*words.matrix)(r, c));
                EXPECT_NEAR(e->steps.empty() ? e->sum : e->steps.back().value, e->value, 1e-6);
                double sum = 0;
                for (const Term& term : e->terms)
                    sum += term.product;
                EXPECT_NEAR(sum, e->sum, 1e-12);
            }
    }
    EXPECT_GT(several, 10);
    EXPECT_FALSE(explainShownWeight(*mini(), LayerIndex{2}, HeadIndex{3}, viewOf(Special::Drop, false), 0, 1))
        << "[CLS] is not shown";
}

TEST(Shown, WordsOfOnePieceChangeNothing) {
    const SharedTrace t = run(makeScenario(requestOf("mini", "The cat sat on the mat")));
    EXPECT_EQ(shown(t, viewOf(Special::Show, true)).matrix->values().size(), 64U);
    EXPECT_EQ(*shown(t, viewOf(Special::Show, true)).matrix, stageOf(t, Stage::Weights, 3, 2));
}

TEST(Shown, HidingChangesNoNumber) {
    const Matrix all = stageOf(mini(), Stage::Weights, 3, 2);
    const ShownStage hidden = shown(mini(), viewOf(Special::Hide, false));
    ASSERT_EQ(hidden.rows.size(), all.rows() - 2);
    for (int r = 0; r < hidden.rows.size(); ++r)
        for (int c = 0; c < hidden.cols.size(); ++c)
            EXPECT_EQ((*hidden.matrix)(r, c), all(r + 1, c + 1));
    EXPECT_TRUE(hidden.removed.empty());
}

TEST(Shown, DroppingRenormalisesAndSaysWhatItRemoved) {
    const Matrix all = stageOf(mini(), Stage::Weights, 3, 2);
    const int last = all.cols() - 1;
    const ShownStage dropped = shown(mini(), viewOf(Special::Drop, false));
    for (int r = 0; r < dropped.rows.size(); ++r) {
        EXPECT_NEAR(rowSum(*dropped.matrix, r), 1, 1e-6);
        const double removed = static_cast<double>(all(r + 1, 0)) + static_cast<double>(all(r + 1, last));
        EXPECT_NEAR(dropped.removed[static_cast<std::size_t>(r)], removed, 1e-7);
        EXPECT_NEAR((*dropped.matrix)(r, 0) * (1 - removed), all(r + 1, 1), 1e-6);
    }
}

// What nobody can attend to has no part in the softmax.
TEST(Shown, DroppedWeightsAreTheSoftmaxOfTheScoresThatAreLeft) {
    const ShownStage scores = shown(mini(), viewOf(Special::Drop, false, Stage::Masked));
    const ShownStage weights = shown(mini(), viewOf(Special::Drop, false));
    for (int r = 0; r < weights.rows.size(); ++r) {
        double sum = 0;
        for (const float s : scores.matrix->row(r))
            sum += std::exp(static_cast<double>(s));
        for (int c = 0; c < weights.cols.size(); ++c)
            EXPECT_NEAR((*weights.matrix)(r, c), std::exp(static_cast<double>((*scores.matrix)(r, c))) / sum, 1e-5);
    }
}

TEST(Shown, UnrangedShowsEverythingAndAsksOrdinaryTokensForTheRange) {
    const View view = viewOf(Special::Unranged, false);
    const ShownStage all = shown(mini(), view);
    EXPECT_EQ(*all.matrix, stageOf(mini(), Stage::Weights, 3, 2));
    const Matrix ranged = rangedCells(all, view.special);
    EXPECT_EQ(ranged.rows(), all.rows.size() - 2);
    EXPECT_EQ(ranged(0, 0), (*all.matrix)(1, 1));
    EXPECT_EQ(rangedCells(all, Special::Show), *all.matrix);
}

TEST(Shown, ScoresStayApartAndTheRuleSaysSo) {
    const View view = viewOf(Special::Show, true, Stage::Scores);
    const ShownStage scores = shown(mini(), view);
    EXPECT_EQ(*scores.matrix, stageOf(mini(), Stage::Scores, 3, 2));
    EXPECT_NE(shownRule(scores, view.stage, view).find("stay apart"), std::string::npos);
    EXPECT_EQ(shownRule(scores, view.stage, View()), "");
}

TEST(Shown, CausalCellsAreClosedAndOpenOnesAreNot) {
    const SharedTrace t = run(makeScenario(requestOf("story", "Tom saw Lily and she gave Tom the ball")));
    const ShownStage pieces = shown(t, viewOf(Special::Show, false), 0, 0);
    for (int r = 0; r < pieces.rows.size(); ++r)
        for (int c = 0; c < pieces.cols.size(); ++c)
            EXPECT_EQ(pieces.cellIsClosed(r, c), c > r);
    const ShownStage words = shown(t, viewOf(Special::Show, true), 0, 0);
    EXPECT_FALSE(words.cellIsClosed(3, 3)); // Lily on Lily: some of its pieces see each other
    EXPECT_TRUE(words.cellIsClosed(3, 4));
    EXPECT_TRUE(shown(mini(), viewOf(Special::Show, false)).closed.empty());
}

TEST(Shown, TheMeanOfHeadsIsTheMeanOfEveryCell) {
    View view = viewOf(Special::Show, false);
    view.layer = LayerIndex{1};
    view.heads = {HeadIndex{2}, HeadIndex{5}, HeadIndex{7}};
    const auto head = [&](int h) { return stageOf(mini(), Stage::Weights, h, 1); };
    view.combine = Combine::Mean;
    EXPECT_NEAR((*shownHeads(*mini(), view).matrix)(1, 2), (head(2)(1, 2) + head(5)(1, 2) + head(7)(1, 2)) / 3, 1e-7);
    view.combine = Combine::Max;
    EXPECT_EQ((*shownHeads(*mini(), view).matrix)(1, 2), std::max({head(2)(1, 2), head(5)(1, 2), head(7)(1, 2)}));
    view.combine = Combine::None;
    EXPECT_EQ(*shownHeads(*mini(), view).matrix, head(2));
}

TEST(Shown, AnAxisFindsThePlaceOfAToken) {
    const ShownAxis axis = tokenAxis(mini()->scenario.query, Special::Hide, true);
    EXPECT_EQ(axis.placeOf(0), -1); // [CLS]
    for (int p = 0; p < axis.size(); ++p)
        for (const int token : axis.places[static_cast<std::size_t>(p)].tokens)
            EXPECT_EQ(axis.placeOf(token), p);
}

TEST(Shown, WithoutATextTheMarksOfThePiecesSayWhereAWordBegins) {
    TokenSequence tokens;
    for (const char* piece : {"un", "##believ", "##able", "cat"})
        tokens.tokens.push_back({.id = 1, .piece = piece, .text = std::string(piece).substr(piece[0] == '#' ? 2 : 0)});
    EXPECT_EQ(labels({tokenAxis(tokens, Special::Show, true)}), (std::vector<std::string>{"unbelievable", "cat"}));
}

TEST(Shown, RefusesToShowNothing) {
    ScenarioRequest request = requestOf("mini", "");
    request.text.reset();
    request.ids = {101, 102};
    const SharedTrace t = run(makeScenario(std::move(request)));
    EXPECT_THROW(shown(t, viewOf(Special::Hide, false)), InputError);
}

// The alignment of the published example, said by the word that is written: "noir" comes from "black".
TEST(Shown, RowsOfATargetCanBeNamedByTheWordTheyPredict) {
    ScenarioRequest request = requestOf("translate", "The black cat sleeps.");
    const SharedTrace t = run(makeScenario(request));
    View view;
    const ShownStage read = shown(t, view, 1, 0);
    view.predicted = true;
    const ShownStage predicted = shown(t, view, 1, 0);
    EXPECT_EQ(labels(read.rows), (std::vector<std::string>{"</s>", "<s>", "Le", "chat", "noir", "dort", "."}));
    EXPECT_EQ(labels(predicted.rows), (std::vector<std::string>{"<s>", "Le", "chat", "noir", "dort", ".", "</s>"}));
    EXPECT_EQ(*predicted.matrix, *read.matrix);
    EXPECT_EQ(labels(predicted.cols), labels(read.cols));
    const auto noir = predicted.matrix->row(3);
    EXPECT_EQ(predicted.cols.places[static_cast<std::size_t>(std::ranges::max_element(noir) - noir.begin())].label,
              "black");
}

} // namespace
} // namespace headscope
