// Numbers that others published, and how ours are compared with them. Not for numbers this program wrote itself: such a
// file would only say that nothing changed.
#pragma once

#include "core/tensor/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace headscope::testing {

// Data that is not part of the repository lies beside it.
inline std::filesystem::path sharedData(const std::string& relative) {
    return std::filesystem::path(HEADSCOPE_SOURCE_DIR).parent_path() / "shared" / "data" / relative;
}

// Skips the running test, visibly, where the data is absent.
#define HEADSCOPE_NEEDS_SHARED_DATA(relative)                                                                          \
    if (!std::filesystem::exists(::headscope::testing::sharedData(relative)))                                          \
    GTEST_SKIP() << "needs " << ::headscope::testing::sharedData(relative).string()

// What is expected, in the precision it was written with.
struct Expected {
    int rows = 0, cols = 0;
    std::vector<double> values; // row-major
    double operator()(int r, int c) const {
        return values[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
    }
};

// The largest absolute entry, at least 1: what a relative bound is relative to.
inline double magnitude(const Expected& expected) {
    double largest = 1;
    for (const double v : expected.values) {
        largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    }
    return largest;
}

// The largest |actual - expected| over magnitude(expected). Infinities must be at the same places; any NaN is
// infinitely far.
inline double largestDifference(const Matrix& actual, const Expected& expected) {
    if (actual.rows() != expected.rows || actual.cols() != expected.cols) {
        ADD_FAILURE() << "shape is " << actual.rows() << " x " << actual.cols() << ", expected " << expected.rows
                      << " x " << expected.cols;
        return std::numeric_limits<double>::infinity();
    }
    double largest = 0;
    for (int r = 0; r < expected.rows; ++r) {
        for (int c = 0; c < expected.cols; ++c) {
            const double a = actual(r, c), e = expected(r, c);
            const double difference = a == e ? 0.0 : std::abs(a - e);
            largest = std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
        }
    }
    return largest / magnitude(expected);
}

// Compares, and prints how close it was: a bound that is never approached is a bound to tighten.
inline void expectGolden(const std::string& name, const Matrix& actual, const Expected& expected, double bound) {
    const double difference = largestDifference(actual, expected);
    std::cout << "    " << name << ": largest difference " << difference << '\n';
    EXPECT_LE(difference, bound) << name;
}

} // namespace headscope::testing
