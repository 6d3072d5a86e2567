// What is printed adds up: decimal arithmetic on the printed strings alone.
#include "core/attention/printed_sum.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

using namespace headscope::testing;

// A printed number as whole units of its last place, and what that place is: "+5.77e-9" is 577 of "2e-9".
struct Units {
    long long count = 0;
    std::string place;
};
Units unitsOf(const std::string& printed) {
    const std::size_t exponent = std::min(printed.find('e'), printed.size());
    std::string digits = printed.substr(0, exponent);
    const std::size_t point = digits.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
    std::erase(digits, '.');
    return {std::stoll(digits), std::to_string(decimals) + printed.substr(exponent)};
}

// Terms + constant + rest = result, in the last printed place.
::testing::AssertionResult addsUp(const PrintedSum& sum) {
    const Units result = unitsOf(sum.result);
    long long total = 0;
    std::vector<std::string> parts;
    for (const PrintedTerm& term : sum.terms)
        parts.push_back(term.term);
    if (!sum.constantName.empty())
        parts.push_back(sum.constant);
    if (!sum.rest.empty())
        parts.push_back(sum.rest);
    for (const std::string& part : parts) {
        const Units units = unitsOf(part);
        if (units.place != result.place)
            return ::testing::AssertionFailure() << part << " has other decimals than " << sum.result;
        total += units.count;
    }
    if (total != result.count)
        return ::testing::AssertionFailure() << total << " printed, " << result.count << " shown";
    return ::testing::AssertionSuccess();
}

CellExplanation sumOf(std::vector<double> products) {
    CellExplanation e{};
    for (const double p : products) {
        e.terms.push_back({"d", 0, static_cast<float>(p), 1.0F, p});
        e.sum += p;
    }
    e.value = static_cast<float>(e.sum);
    return e;
}

std::vector<Scenario> someModels() {
    ToyOptions plain, gqa;
    plain.dModel = 16;
    plain.heads = 4;
    plain.layers = 2;
    gqa.dModel = 12;
    gqa.heads = 6;
    gqa.kvHeads = 2;
    gqa.bias = false;
    gqa.position = Position::Rope;
    const std::string text = "The cat sat on the mat";
    std::vector<Scenario> scenarios{toy(plain, text), toy(gqa, text), crossToy(plain, text, "Le chat"),
                                    workedExample(),  patterns(text), withRule(toy(plain, text), Rule::AverageHeads)};
    Scenario causal = toy(plain, text);
    causal.mask = parseMask("causal");
    scenarios.push_back(causal);
    causal.temperature = 0;
    scenarios.push_back(causal);
    return scenarios;
}

TEST(PrintedSum, AddsUpForEveryStageOfSeveralModels) {
    for (const Scenario& scenario : someModels()) {
        const SharedTrace t = run(scenario);
        for (const Stage stage : availableStages(scenario)) {
            const StageShape shape = stageShape(scenario.model->config(), stage, scenario.queries(), scenario.keys());
            for (int row = 0; row < shape.rows; ++row)
                for (int col = 0; col < std::min(shape.cols, 8); ++col)
                    for (const int shown : {0, 3, 6, -1}) {
                        const auto e = explainCell(*t, LayerIndex{0}, HeadIndex{0}, stage, row, col);
                        EXPECT_TRUE(addsUp(printTerms(e, shown)))
                            << scenario.source.name << ' ' << stageInfo(stage).id << '[' << row << ", " << col << ']';
                    }
        }
    }
}

TEST(PrintedSum, CountsTheTermsThatAreNotShown) {
    const PrintedSum sum = printTerms(sumOf({5, 4, 3, 2, 1}), 3);
    EXPECT_EQ(sum.terms.size(), 3U);
    EXPECT_EQ(sum.restName, "2 smaller terms");
    EXPECT_EQ(sum.rest, "+3.00");
    EXPECT_EQ(sum.result, "+15.00");
}

TEST(PrintedSum, NamesRoundingWhenAllTermsAreShown) {
    const PrintedSum sum = printTerms(sumOf({1.00005, 1.00005, 1.00005}), -1);
    EXPECT_TRUE(addsUp(sum));
    EXPECT_EQ(sum.smaller, 0);
    EXPECT_TRUE(sum.rest.empty() || sum.restName == "rounding");
}

TEST(PrintedSum, TinyAndHugeNumbersShareOnePowerOfTen) {
    for (const double factor : {1e-30, 1e-12, 1e12, 1e30}) {
        const PrintedSum sum = printTerms(sumOf({3.21 * factor, -1.23 * factor, 0.5 * factor}), 2);
        EXPECT_TRUE(addsUp(sum)) << factor;
        EXPECT_NE(sum.result.find('e'), std::string::npos) << sum.result;
        EXPECT_NE(unitsOf(sum.result).count, 0) << sum.result;
    }
}

TEST(PrintedSum, ZerosPrintAsZeros) {
    const PrintedSum sum = printTerms(sumOf({0, 0}), -1);
    EXPECT_TRUE(addsUp(sum));
    EXPECT_EQ(unitsOf(sum.result).count, 0);
}

TEST(PrintedSum, NumbersThatAreNotFiniteAreNotAdded) {
    const PrintedSum sum = printTerms(sumOf({INFINITY, 1}), -1);
    EXPECT_FALSE(sum.addsUp);
    EXPECT_EQ(sum.result, "+inf");
}

TEST(PrintNumber, KeepsFourSignificantDigitsAndNeverPrintsANumberAsZero) {
    EXPECT_EQ(printNumber(0.8907), "0.8907");
    EXPECT_EQ(printNumber(36.37, true), "+36.37");
    EXPECT_EQ(printNumber(-6.4294, true), "-6.429");
    EXPECT_EQ(printNumber(0), "0.0000");
    EXPECT_EQ(printNumber(1234.5678), "1235");
    EXPECT_EQ(printNumber(0.00012345), "1.23e-04");
    EXPECT_EQ(printNumber(-INFINITY), "-inf");
}

} // namespace
} // namespace headscope
