// `bench`: what it prints and what it refuses. No time is judged here.
#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

TEST(Bench, JsonHasExactlyTheFieldsOfTheContract) {
    for (const std::string job : {"attention", "edit", "model"}) {
        cli::Arguments arguments{"bench",    "--job", job,      "--n",       "3,16",
                                 "--rounds", "2",     "--json", "--backend", "cpu,reference"};
        if (job == "model")
            arguments.insert(arguments.end(), {"--model", "patterns"});
        else
            arguments.insert(arguments.end(), {"--d-model", "32", "--heads", "4"});
        const Json results = Json::parse(expectDone(arguments).out);
        ASSERT_EQ(results.size(), 4U) << job; // two sizes on two backends
        const std::vector<std::string> expected{"job",       "n",      "backend", "threads",         "isa",
                                                "ms_median", "ms_min", "gflops",  "roofline_gflops", "roofline_share"};
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Json& r = results[i];
            std::vector<std::string> keys;
            for (const auto& [key, value] : r.items())
                keys.push_back(key);
            EXPECT_EQ(keys, expected);
            EXPECT_EQ(r["job"], job);
            EXPECT_EQ(r["n"], i < 2 ? 3 : 16);
            EXPECT_EQ(r["backend"], i % 2 ? "reference" : "cpu");
            EXPECT_GE(r["threads"], 1);
            EXPECT_GT(r["ms_min"], 0.0);
            EXPECT_GE(r["ms_median"], r["ms_min"]);
            EXPECT_GT(r["roofline_gflops"], 0.0);
            EXPECT_NEAR(r["roofline_share"], r["gflops"].get<double>() / r["roofline_gflops"].get<double>(), 1e-9);
        }
    }
}

TEST(Bench, ThreadsAreThoseAskedFor) {
    const cli::Arguments small{"bench", "--n", "4", "--d-model", "16", "--heads", "2", "--rounds", "1", "--json"};
    for (const std::string threads : {"1", "3"}) {
        cli::Arguments arguments = small;
        arguments.insert(arguments.end(), {"--threads", threads});
        const Json results = Json::parse(expectDone(arguments).out);
        EXPECT_EQ(results[0]["threads"], std::stoi(threads));
    }
}

TEST(Bench, TheTableNamesTheJobAndTheShare) {
    const std::string out = expectDone({"bench", "--n", "4", "--d-model", "16", "--heads", "2", "--rounds", "1"}).out;
    for (const std::string part : {"job", "GFLOP/s", "share", "attention", "cpu", "%"})
        EXPECT_TRUE(contains(out, part)) << out;
}

TEST(Bench, WhatCannotBeTimedIsRefusedByName) {
    expectRefused({"bench", "--job", "training"}, {"--job", "attention, edit or model", "'training'"});
    expectRefused({"bench", "--n", "0"}, {"--n", "at least 1", "'0'"});
    expectRefused({"bench", "--n", "16,x"}, {"--n", "'x'"});
    expectRefused({"bench", "--rounds", "0"}, {"--rounds", "at least 1"});
    expectRefused({"bench", "--backend", "cpu,tpu"}, {"'tpu'", "reference"});
    expectRefused({"bench", "--heads", "7"}, {"512", "7", "divisible"});
    expectRefused({"bench", "--model", "mini"}, {"--model", "--job model"});
    expectRefused({"bench", "--job", "edit", "--layers", "2"}, {"--layers", "edit"});
    expectRefused({"bench", "--job", "model", "--model", "patterns", "--n", "600"}, {"600", "512"});
    expectRefused({"bench", "--n", "2000000", "--rounds", "1"}, {"memory", "--n"}); // before it is allocated
    expectRefused({"bench", "--job", "edit", "--n", "100000000"}, {"--n", "16384", "100000000"});
}

} // namespace

} // namespace headscope::test
