#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keysOf(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items())
        keys.push_back(key);
    return keys;
}

TEST(Tokens, JsonHasExactlyTheFieldsOfTheContract) {
    const Json tokens =
        Json::parse(expectDone({"tokens", "--model", "toy", "--text", "The cat, the mat", "--json"}).out);
    ASSERT_EQ(tokens.size(), 5U);
    for (const Json& token : tokens)
        EXPECT_EQ(keysOf(token),
                  (std::vector<std::string>{"index", "id", "piece", "text", "start", "end", "special", "segment"}));
    EXPECT_EQ(tokens[2], Json::parse(R"({"index": 2, "id": 2, "piece": ",", "text": ",", "start": 7, "end": 8,
                                         "special": false, "segment": 0})"));
}

TEST(Tokens, RangesAreBytesOfTheInput) {
    const std::string text = "Zoë naïve 猫";
    const Json tokens = Json::parse(expectDone({"tokens", "--model", "toy", "--text", text, "--json"}).out);
    for (const Json& token : tokens)
        EXPECT_EQ(text.substr(token["start"], token["end"].get<std::size_t>() - token["start"].get<std::size_t>()),
                  token["text"].get<std::string>());
}

TEST(Tokens, EqualWordsHaveEqualIds) {
    const Json tokens =
        Json::parse(expectDone({"tokens", "--model", "toy", "--text", "the cat the mat The", "--json"}).out);
    std::vector<int> ids;
    for (const Json& token : tokens)
        ids.push_back(token["id"]);
    EXPECT_EQ(ids, (std::vector<int>{0, 1, 0, 2, 3}));
}

TEST(Tokens, AnyTextWillDo) {
    for (const std::string& text :
         {std::string(), std::string(" \n\t "), std::string("a\0b", 3), std::string("\xEF\xBB\xBFx\r\n")}) {
        TemporaryFolder folder;
        const std::string file = folder.write("text", text);
        EXPECT_EQ(expectDone({"tokens", "--text-file", file, "--json"}).out,
                  expectDone({"tokens", "--text-file", "-", "--json"}, text).out);
    }
}

TEST(Tokens, ASecondTextIsASegmentOfItsOwn) {
    const Json tokens =
        Json::parse(expectDone({"tokens", "--model", "toy", "--text", "a b", "--pair", "c", "--json"}).out);
    ASSERT_EQ(tokens.size(), 3U);
    EXPECT_EQ(tokens[2]["segment"], 1);
    EXPECT_EQ(tokens[2]["index"], 0);
    EXPECT_EQ(tokens[2]["start"], 0);
}

TEST(Tokens, ColumnsAreAlignedForWideAndCombiningCharacters) {
    std::istringstream lines(expectDone({"tokens", "--model", "toy", "--text", "cat 猫 e\xCC\x81t\xC3\xA9"}).out);
    std::string title, line;
    std::getline(lines, title);
    EXPECT_TRUE(title.starts_with("index  id  piece"));
    std::vector<std::string> rows;
    while (std::getline(lines, line))
        rows.push_back(line);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_TRUE(contains(rows[0], "cat    cat   "));
    EXPECT_TRUE(contains(rows[1], "猫     猫    "));
}

} // namespace

} // namespace headscope::test
