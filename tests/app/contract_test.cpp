#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

const std::vector<std::string> commands{"render", "dump", "tokens", "info", "models", "devices", "heads", "screenshot"};

TEST(Contract, VersionAndHelpAreDoneWithoutAWordOnStandardError) {
    EXPECT_EQ(expectDone({"--version"}).out, std::string("headscope ") + HEADSCOPE_VERSION + "\n");
    const std::string help = expectDone({"--help"}).out;
    for (const std::string& command : commands)
        EXPECT_TRUE(contains(help, "  " + command + " ")) << command;
}

TEST(Contract, HelpOfEveryCommandShowsAnExample) {
    for (const std::string& command : commands) {
        const std::string help = expectDone({command, "--help"}).out;
        EXPECT_TRUE(contains(help, "Example:\n  headscope " + command)) << help;
    }
}

TEST(Contract, HelpOfEveryCommandThatComputesListsTheSharedOptions) {
    for (const std::string command : {"render", "dump", "heads", "screenshot"}) {
        const std::string help = expectDone({command, "--help"}).out;
        for (const std::string option :
             {"--model",      "--text",  "--text-file", "--ids",      "--pair",        "--pair-ids", "--target",
              "--target-ids", "--site",  "--layer",     "--head",     "--mask",        "--scale",    "--temperature",
              "--ablate",     "--rule",  "--special",   "--words",    "--backend",     "--threads",  "--scenario",
              "--d-model",    "--heads", "--kv-heads",  "--d-k",      "--d-v",         "--layers",   "--seed",
              "--position",   "--bias",  "--no-bias",   "--residual", "--no-residual", "--x",        "--y"})
            EXPECT_TRUE(contains(help, "  " + option + " ") || contains(help, "  " + option + "\n"))
                << command << " " << option;
    }
}

TEST(Contract, UnknownCommandsOptionsAndArgumentsAreRefusedByName) {
    expectRefused({"frobnicate", "x"}, {"'frobnicate'", "render", "dump"});
    expectRefused({"--frobnicate"}, {"'--frobnicate'"});
    expectRefused({"render", "--frobnicate", "--out", "f.png"},
                  {"render: ", "--frobnicate", "headscope render --help"});
    expectRefused({"tokens", "--text", "a", "b"}, {"'b'", "too many"});
    expectRefused({"tokens", "--text"}, {"--text needs a value"});
    expectRefused({"tokens", "--text", "--json"}, {"--text needs a value"});
    expectRefused({"tokens", "--text", "a", "--text", "b"}, {"--text", "twice"});
    expectRefused({"info", "toy", "--bias", "--no-bias"}, {"--bias and --no-bias"});
}

TEST(Contract, AValueMayBeginWithADashOrBeEmpty) {
    EXPECT_TRUE(contains(expectDone({"tokens", "--text", "-5 apples"}).out, "apples"));
    EXPECT_TRUE(contains(expectDone({"tokens", "--text=--out"}).out, "out"));
    EXPECT_EQ(expectDone({"tokens", "--model", "toy", "--json", "--text", ""}).out, "[]\n");
    EXPECT_EQ(expectDone({"tokens", "--model", "toy", "--json", "--text="}).out, "[]\n");
    EXPECT_TRUE(contains(expectDone({"tokens", "--text", "[a,b]"}).out, "]"));
}

TEST(Contract, TheWindowIsForNoArgumentAndForOneFile) {
    EXPECT_TRUE(cli::wantsWindow({}));
    EXPECT_TRUE(cli::wantsWindow({"lesson.headscope"}));
    EXPECT_FALSE(cli::wantsWindow({"render"}));
    EXPECT_FALSE(cli::wantsWindow({"--version"}));
    EXPECT_FALSE(cli::wantsWindow({"render", "lesson.headscope"}));
    EXPECT_TRUE(cli::wantsWindow({"--backend", "reference"}));
    EXPECT_TRUE(cli::wantsWindow({"lesson.headscope", "--threads", "1"}));
    EXPECT_FALSE(cli::wantsWindow({"render", "--threads", "1"}));
}

TEST(Contract, WhatComputesInTheWindowIsRefusedBeforeItOpens) {
    EXPECT_EQ(cli::windowStart({"--backend", "reference", "--threads=2"}).backend, "reference");
    for (const cli::Arguments& wrong : {cli::Arguments{"--backend", "gpu"}, {"--threads", "0"}, {"--threads"}}) {
        std::ostringstream err;
        EXPECT_EQ(cli::windowRefusal(wrong, true, err), 2);
        expectFailure({2, "", err.str()}, 2, {wrong[0].substr(2)});
    }
}

TEST(Contract, WithoutADisplayTheWindowNamesWhatWorks) {
    std::ostringstream err;
    EXPECT_EQ(cli::windowRefusal({}, false, err), 1);
    expectFailure({1, "", err.str()}, 1, {"render", "screenshot"});
}

TEST(Contract, AWindowOnNoFileIsTheUsersFault) {
    std::ostringstream err;
    EXPECT_EQ(cli::windowRefusal({"rendr"}, true, err), 2);
    expectFailure({2, "", err.str()}, 2, {"'rendr'", "neither a file nor a command"});
}

TEST(Contract, ModelsAndDevicesListWhatThereIs) {
    const std::string models = expectDone({"models"}).out;
    for (const std::string name : {"mini", "story", "toy", "patterns", "worked-example"})
        EXPECT_TRUE(contains(models, name));
    EXPECT_TRUE(contains(models, "512 tokens) (the default)")); // mini
    const std::string devices = expectDone({"devices"}).out;
    EXPECT_TRUE(contains(devices, "cpu"));
    EXPECT_TRUE(contains(devices, "opencl"));
}

TEST(Contract, ABrokenStandardOutputIsNotTheUsersFault) {
    std::istringstream in;
    std::ostringstream out, err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(cli::run({"models"}, in, out, err), 1);
    EXPECT_TRUE(err.str().starts_with("headscope: "));
}

} // namespace

} // namespace headscope::test
