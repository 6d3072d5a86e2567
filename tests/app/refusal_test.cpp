// Bad input ends with status 2 and one sentence that says what was expected and what was found; nothing is written.
#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

class Refusal : public testing::Test {
protected:
    // dump ARGUMENTS --out FILE is refused with these parts, and leaves no file behind. The model is patterns, unless
    // the arguments say otherwise.
    void refused(cli::Arguments arguments, const std::vector<std::string>& parts) {
        TemporaryFolder target;
        if (std::find(arguments.begin(), arguments.end(), "--model") == arguments.end() &&
            std::find(arguments.begin(), arguments.end(), "--scenario") == arguments.end())
            arguments.insert(arguments.begin(), {"--model", "patterns"});
        arguments.insert(arguments.begin(), "dump");
        arguments.insert(arguments.end(), {"--out", target / "t.npz"});
        expectRefused(arguments, parts);
        EXPECT_TRUE(target.files().empty());
    }

    TemporaryFolder folder;
    const std::string cat = "The cat sat on the mat"; // 6 tokens
};

TEST_F(Refusal, TextsWithNothingToCompute) {
    refused({}, {"no text", "--text"});
    refused({"--text", ""}, {"no visible character"});
    refused({"--text", "   "}, {"no visible character"});
    refused({"--text-file", folder / "absent.txt"}, {"absent.txt"});
    refused({"--text-file", folder / "."}, {"a folder"});
    refused({"--text", "a", "--text-file", "b"}, {"--text and --text-file"});
    refused({"--text", "a", "--ids", "1"}, {"--text and --ids"});
}

TEST_F(Refusal, LongTextsNameBothNumbers) {
    std::string words;
    for (int i = 0; i < 20000; ++i)
        words += "word ";
    const std::string file = folder.write("long.txt", words);
    refused({"--text-file", file}, {"20000", "512"});
    refused({"--model", "toy", "--text-file", file}, {"20000", "16384"});
}

TEST_F(Refusal, InvalidUtf8NamesItsOffset) {
    refused({"--text", "abc\xff"}, {"--text", "3"});
    refused({"--text-file", folder.write("bad.txt", "ab\xc3(")}, {"bad.txt", "2"});
    expectRefused({"tokens", "--text", "abc\xff"}, {"3"});
}

TEST_F(Refusal, SizesThatDoNotFitNameTheNumbers) {
    refused({"--model", "toy", "--d-model", "65", "--heads", "8", "--text", cat}, {"65", "8"});
    refused({"--model", "toy", "--heads", "6", "--kv-heads", "4", "--d-model", "36", "--text", cat}, {"6", "4"});
    refused({"--model", "toy", "--d-model", "0", "--text", cat}, {"--d-model", "at least 1", "'0'"});
    refused({"--model", "toy", "--heads", "eight", "--text", cat}, {"--heads", "whole number", "'eight'"});
    refused({"--model", "toy", "--position", "left", "--text", cat}, {"--position", "rope", "'left'"});
    refused({"--model", "toy", "--seed", "-1", "--text", cat}, {"--seed", "at least 0", "'-1'"});
    refused({"--model", "toy", "--seed", "18446744073709551616", "--text", cat}, {"--seed", "18446744073709551615"});
    refused({"--model", "toy", "--heads", "99999999999", "--text", cat}, {"--heads", "from 1 to 2147483647"});
}

TEST_F(Refusal, IndicesOutOfRangeNameTheRange) {
    refused({"--layer", "9", "--text", cat}, {"--layer 9", "1 layer"});
    refused({"--head", "7", "--text", cat}, {"--head 7", "7 heads, 0 to 6"});
    refused({"--head", "3-1", "--text", cat}, {"--head", "'3-1'"});
    refused({"--ablate", "0:7", "--text", cat}, {"--ablate", "7", "7 heads, 0 to 6"});
    refused({"--ablate", "3", "--text", cat}, {"--ablate", "LAYER:HEAD", "'3'"});
}

TEST_F(Refusal, UnknownNamesListTheKnownOnes) {
    refused({"--stage", "softmax", "--text", cat}, {"'softmax'", "embedding", "scores", "norms"});
    refused({"--rule", "no-such", "--text", cat}, {"'no-such'", "split-input", "average-heads"});
    refused({"--mask", "diagonal", "--text", cat}, {"'diagonal'", "causal", "window:W", "no file of that name"});
    refused({"--scale", "big", "--text", cat}, {"sqrt_dk", "'big'"});
    refused({"--temperature", "-1", "--text", cat}, {"-1", "0"});
    refused({"--backend", "tpu", "--text", cat}, {"tpu", "cpu"});
    refused({"--model", "nonesuch", "--text", cat}, {"'nonesuch'", "toy"});
    refused({"--model", folder / "absent.npz", "--text", cat}, {"absent.npz"});
    refused({"--threads", "0", "--text", cat}, {"--threads", "at least 1", "'0'"});
}

TEST_F(Refusal, AnUnavailableBackendSaysWhy) {
    refused({"--backend", "opencl:99", "--text", cat}, {"opencl"});
}

TEST_F(Refusal, OptionsThatTheModelDoesNotUseAreNamed) {
    refused({"--d-model", "32", "--text", cat}, {"--d-model", "patterns"});
    refused({"--heads", "2", "--text", cat}, {"--heads", "patterns"});
    refused({"--no-bias", "--text", cat}, {"--no-bias", "patterns"});
    refused({"--pair", "x", "--text", cat}, {"--pair", "patterns"});
    refused({"--model", "worked-example", "--position", "rope"}, {"--position", "worked-example"});
    refused({"--model", "toy", "--x", "x.npy"}, {"--x", "toy"});
    for (const auto& [option, value] :
         {std::pair{"--target", "chat"}, {"--target-ids", "5"}, {"--site", "decoder.cross"}})
        refused({"--model", "toy", "--text", cat, option, value},
                {std::string(option) + " is for encoder-decoder", "toy"});
    refused({"--model", "toy", "--text", cat, "--special", "hide"}, {"--special", "toy"});
    refused({"--model", "toy", "--text", cat, "--words"}, {"--words", "toy"});
    refused({"--model", "toy", "--text", cat, "--logits"}, {"--logits", "output layer", "toy"});
    expectRefused({"tokens", "--model", "patterns", "--text", "a", "--no-special"}, {"--no-special", "patterns"});
    expectRefused({"tokens", "--text", "a", "--tokenizer", "vocab.txt"}, {"vocab.txt", "tokenizer"});
}

TEST_F(Refusal, StagesThatTheScenarioLacksSayWhatToDo) {
    refused({"--model", "toy", "--text", cat, "--stage", "embedding_key"}, {"embedding_key", "--pair"});
}

TEST_F(Refusal, MasksOfAnotherSizeNameBothShapes) {
    const std::string csv = folder.write("mask.csv", "1,0\n1,1\n");
    refused({"--mask", csv, "--text", cat}, {"mask.csv", "6 x 6", "2 x 2"});
    const std::string npy = folder.write("mask.npy", npyFile("|b1", "(2, 3)", std::string(6, '\1')));
    refused({"--mask", npy, "--text", cat}, {"mask.npy", "6 x 6", "2 x 3"});
}

TEST_F(Refusal, MaskFilesThatAreNoNumbersNameThePlace) {
    refused({"--mask", folder.write("m.csv", "1,0\n1,x\n"), "--text", "a b"}, {"m.csv", "line 2, column 2", "'x'"});
    refused({"--mask", folder.write("m.csv", "1,0\n1\n"), "--text", "a b"},
            {"m.csv", "line 2", "2 numbers", "found 1"});
    refused({"--mask", folder.write("m.csv", "0,nan\n0,0\n"), "--text", "a b"}, {"row 0, column 1", "nan"});
    refused({"--mask", folder.write("m.csv", ""), "--text", "a b"}, {"m.csv", "empty"});
}

TEST_F(Refusal, UnreadableAndTruncatedFilesAreNamed) {
    const std::string whole = attentionModule();
    refused(
        {"--model", folder.write("cut.safetensors", whole.substr(0, whole.size() - 10)), "--heads", "2", "--text", cat},
        {"cut.safetensors"});
    refused({"--model", folder.write("noise.npz", "PK\x03\x04 nothing more"), "--text", cat}, {"noise.npz"});
    refused({"--model", folder.write("empty.npz", ""), "--text", cat}, {"empty.npz"});
    refused({"--scenario", folder.write("bad.headscope", "{\"format\": ")}, {"bad.headscope"});
}

TEST_F(Refusal, NotANumberInAWeightNamesTheEntry) {
    const std::string file = folder.write("nan.safetensors", attentionModule(std::numeric_limits<float>::quiet_NaN()));
    refused({"--model", file, "--heads", "2", "--text", cat}, {"nan.safetensors", "in_proj_weight"});
}

TEST_F(Refusal, AnUncertainHeadCountListsTheDivisors) {
    const std::string file = folder.write("module.safetensors", attentionModule());
    refused({"--model", file, "--text", cat}, {"--heads", "1, 2"});
    refused({"--model", file, "--heads", "3", "--text", cat}, {"4", "3"});
}

TEST_F(Refusal, OutputNamesNeedAKnownEnding) {
    expectRefused({"dump", "--text", cat}, {"--out", ".npz"});
    expectRefused({"dump", "--text", cat, "--out", folder / "t.txt"}, {"t.txt", ".npz", ".json", ".csv", "'.txt'"});
    expectRefused({"render", "--text", cat, "--out", folder / "t.gif"}, {"t.gif", ".png", ".svg", ".pdf"});
    expectRefused({"screenshot", "--text", cat, "--out", folder / "t.pdf"}, {"t.pdf", ".png"});
    expectRefused({"dump", "--model", "patterns", "--text", cat, "--out", folder / "absent/t.npz"}, {"absent"});
    EXPECT_TRUE(folder.files().empty());
}

TEST_F(Refusal, FigureOptionsWithoutEffectAreRefused) {
    const auto render = [&](const std::string& view, const std::string& option, const std::string& value) {
        cli::Arguments arguments{"render", "--model", "patterns", "--text",         cat,
                                 "--view", view,      "--out",    folder / "f.svg", option};
        if (!value.empty())
            arguments.push_back(value);
        expectRefused(arguments, {option, view});
    };
    render("heatmap", "--top", "3");
    render("grid", "--threshold", "0.1");
    render("grid", "--combine", "mean");
    render("links", "--colors", "magma");
    expectRefused({"render", "--model", "patterns", "--text", cat, "--stage", "concat", "--combine", "max", "--out",
                   folder / "f.svg"},
                  {"--combine", "concat"});
    render("links", "--range", "0:1");
    render("grid", "--values", "");
    expectRefused({"render", "--model", "patterns", "--text", cat, "--out", folder / "f.svg", "--dpi", "300"},
                  {"--dpi", ".svg"});
    EXPECT_TRUE(folder.files().empty());
}

TEST_F(Refusal, WhatIsTypedDoesNotReachTheTerminalAsItIs) {
    const Result result = headscope(
        {"dump", "--model", "no\x1b[31m\x07" + std::string(500, 'm'), "--text", cat, "--out", folder / "a.npz"});
    expectFailure(result, 2, {"no\\x1b[31m\\x07mmm", "..."});
    EXPECT_LT(result.err.size(), 500U);
}

TEST_F(Refusal, BytesThatAreNoTextAreWrittenAsSuch) {
    refused({"--text", cat, "--mask", folder.write("m.csv", "1,\xff\xfe,\xc3\xa9,\xc3")},
            {"\\xff\\xfe"}); // and no byte of them as it is
    refused({"--text", cat, "--mask", folder.write("m.csv", "\xc3\xa9\xc3")}, {"\xc3\xa9\\xc3"});
}

TEST_F(Refusal, AnOptionGivenTwiceIsNamed) {
    refused({"--text", "a", "--text", "b"}, {"--text is given twice"});
}

TEST_F(Refusal, ATextFileOfSpacesIsNamed) {
    refused({"--text-file", folder.write("spaces.txt", " \n ")}, {"--text-file", "spaces.txt", "no visible character"});
}

TEST_F(Refusal, FigureOptionsNameTheirOption) {
    const auto render = [&](const std::string& option, const std::string& value,
                            const std::vector<std::string>& parts) {
        expectRefused({"render", "--model", "patterns", "--text", cat, "--out", folder / "f.png", option, value},
                      parts);
    };
    render("--view", "cube", {"--view", "heatmap", "'cube'"});
    render("--combine", "sum", {"--combine", "mean", "'sum'"});
    render("--colors", "jet", {"--colors", "viridis", "'jet'"});
    render("--range", "1:0", {"1:0"});
    render("--curve", "cubic", {"cubic", "linear"});
    expectRefused(
        {"render", "--model", "patterns", "--text", cat, "--out", folder / "f.png", "--view", "links", "--top", "0"},
        {"--top", "at least 1", "'0'"});
    render("--layer", "9", {"--layer 9", "1 layer"});
    render("--stage", "q,k", {"--stage", "one stage", "'q,k'"});
    render("--cell", "6,0", {"--cell 6,0", "6 x 6"});
#ifdef HEADSCOPE_WITH_UI
    render("--width", "-3", {"--width", "'-3'"});
    render("--width", "16,5", {"--width", "'16,5'"});
    render("--width", "9", {"--width", "from 10 to 5000", "'9'"});
    render("--font-size", "0.5", {"--font-size", "from 1 to 200", "'0.5'"});
    render("--dpi", "9", {"--dpi", "10", "'9'"});
#endif
    expectRefused({"screenshot", "--text", cat, "--out", folder / "w.png", "--size", "big"},
                  {"--size", "1366x768", "'big'"});
    expectRefused({"screenshot", "--text", cat, "--out", folder / "w.png", "--size", "320x240"},
                  {"--size: width", "from 640", "'320'"});
    EXPECT_TRUE(folder.files().empty());
}

} // namespace

} // namespace headscope::test
