#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

const std::string cat = "The cat sat on the mat";

#ifdef HEADSCOPE_WITH_UI

TEST(Render, TheEndingChoosesTheFormat) {
    TemporaryFolder folder;
    expectDone({"render", "--text", cat, "--out", folder / "f.png"});
    expectDone({"render", "--text", cat, "--out", folder / "f.SVG"});
    expectDone({"render", "--text", cat, "--out", folder / "f.pdf"});
    EXPECT_TRUE(readFile(folder / "f.png").starts_with("\x89PNG"));
    EXPECT_TRUE(contains(readFile(folder / "f.SVG"), "<svg"));
    EXPECT_TRUE(readFile(folder / "f.pdf").starts_with("%PDF"));
    EXPECT_EQ(folder.files().size(), 3U);
}

TEST(Render, EveryViewDrawsAFigure) {
    TemporaryFolder folder;
    for (const std::string view : {"heatmap", "grid", "links", "stages", "walk"}) {
        expectDone(
            {"render", "--view", view, "--model", "toy", "--text", cat, "--dpi", "100", "--out", folder / "f.png"});
        EXPECT_TRUE(readFile(folder / "f.png").starts_with("\x89PNG")) << view;
    }
}

// The width of a PNG is a big-endian number at byte 16 (PNG specification, IHDR).
TEST(Render, WidthAndDpiDecideThePixels) {
    TemporaryFolder folder;
    expectDone({"render", "--text", cat, "--width", "50.8", "--dpi", "100", "--out", folder / "f.png"});
    const std::string png = readFile(folder / "f.png");
    ASSERT_GT(png.size(), 24U);
    int width = 0;
    for (std::size_t i = 16; i < 20; ++i)
        width = width * 256 + static_cast<unsigned char>(png[i]);
    EXPECT_EQ(width, 200);
}

// Whoever asks for numbers is told where there are none.
TEST(Render, NumbersWithoutRoomAreNoted) {
    TemporaryFolder folder;
    expectDone({"render", "--text", cat, "--values", "--out", folder / "f.svg"});
    const Result narrow = headscope({"render", "--text", cat, "--values", "--width", "40", "--out", folder / "f.svg"});
    EXPECT_EQ(narrow.status, 0);
    EXPECT_TRUE(narrow.err.starts_with("headscope: note: --values: no cell has room")) << narrow.err;
    EXPECT_EQ(narrow.err.find('\n'), narrow.err.size() - 1) << narrow.err;
    expectDone({"render", "--text", cat, "--width", "40", "--out", folder / "f.svg"});
}

TEST(Render, AWrongRuleIsDrawnBesideTheRightOne) {
    TemporaryFolder folder;
    const cli::Arguments plain{"render", "--text", cat, "--out", folder / "right.svg"};
    const cli::Arguments wrong{"render", "--text", cat, "--rule", "softmax-queries", "--out", folder / "wrong.svg"};
    expectDone(plain);
    expectDone(wrong);
    EXPECT_FALSE(contains(readFile(folder / "right.svg"), "softmax-queries"));
    EXPECT_TRUE(contains(readFile(folder / "wrong.svg"), "softmax-queries"));
}

TEST(Render, AFailedRunLeavesTheOldFileWhole) {
    TemporaryFolder folder;
    const std::string file = folder.write("f.png", "old");
    expectRefused({"render", "--model", "patterns", "--text", cat, "--head", "12", "--out", file},
                  {"--head 12", "7 heads"});
    EXPECT_EQ(readFile(file), "old");
    EXPECT_EQ(folder.files().size(), 1U);
}

TEST(Screenshot, HasTheSizeThatWasAskedFor) {
    TemporaryFolder folder;
    expectDone({"screenshot", "--text", cat, "--size", "1024x768", "--scale-factor", "1.5", "--out", folder / "w.png"});
    const std::string png = readFile(folder / "w.png");
    ASSERT_GT(png.size(), 24U);
    int width = 0;
    for (std::size_t i = 16; i < 20; ++i)
        width = width * 256 + static_cast<unsigned char>(png[i]);
    EXPECT_EQ(width, 1536);
}

#else

TEST(Render, ABuildWithoutFiguresSaysSo) {
    TemporaryFolder folder;
    expectFailure(headscope({"render", "--text", cat, "--out", folder / "f.png"}), 1, {"render", "without figures"});
    expectFailure(headscope({"screenshot", "--text", cat, "--out", folder / "w.png"}), 1, {"screenshot", "without"});
    EXPECT_TRUE(folder.files().empty());
}

#endif

} // namespace

} // namespace headscope::test
