// A text that is too long for a model, in parts: nothing is lost, nothing is too long.
#include "core/attention/scenario.h"
#include "core/text/text_parts.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

const std::string sentence = "The unbelievable catfish sat, uninterestedly, on the mat. ";

std::string longText(int sentences) {
    std::string text;
    for (int i = 0; i < sentences; ++i)
        text += sentence;
    return text;
}

SharedModel modelOf(const std::string& name) {
    ModelSource source;
    source.name = name;
    return openModel(source).model;
}

TEST(TextParts, HoldEveryTokenOnceAndFit) {
    for (const std::string name : {"mini", "story", "translate", "patterns"}) {
        const SharedModel model = modelOf(name);
        const Tokenizer& tokenizer = model->tokenizer();
        const std::string text = longText(20);
        for (const int most : {5, 17, 64}) {
            int next = 0;
            std::string gathered;
            for (const TextPart& part : partsOf(text, tokenizer, most)) {
                EXPECT_LE(tokenizer.tokenize(textOf(part, text)).size(), most) << name;
                EXPECT_EQ(part.firstToken, next) << name;
                next += part.tokens;
                gathered += textOf(part, text);
            }
            std::string squeezed = text;
            std::erase(squeezed, ' ');
            std::erase(gathered, ' ');
            EXPECT_EQ(gathered, squeezed) << name << " " << most;
        }
    }
}

TEST(TextParts, EndBetweenWords) {
    const auto tokenizer = modelOf("mini")->tokenizer().encode({"uninterestedly"}); // several pieces
    ASSERT_GT(tokenizer.size(), 4);
    const std::string text = longText(20);
    for (const TextPart& part : partsOf(text, modelOf("mini")->tokenizer(), 30))
        EXPECT_TRUE(part.bytes.start == 0 || text[part.bytes.start - 1] == ' ') << part.bytes.start;
}

TEST(TextParts, AShortTextIsOnePartAndAnEmptyOneNone) {
    const SharedModel model = modelOf("mini");
    EXPECT_EQ(partsOf("the cat", model->tokenizer(), 512), (std::vector<TextPart>{{{0, 7}, 0, 2}}));
    EXPECT_TRUE(partsOf("", model->tokenizer(), 512).empty());
    EXPECT_TRUE(partsOf("the cat", model->tokenizer(), 2).empty()); // no room beside [CLS] and [SEP]
}

TEST(TextParts, TheFirstOneIsTakenOnlyWhenAskedFor) {
    ScenarioRequest request;
    request.source.name = "patterns";
    request.text = longText(100); // 1,100 words
    EXPECT_THROW(makeScenario(request), TextTooLong);
    request.firstPart = true;
    const Scenario cut = makeScenario(request);
    EXPECT_LE(cut.queries(), 512);
    EXPECT_GT(cut.queries(), 256);
    EXPECT_TRUE(longText(100).starts_with(cut.firstText()));
    request.text = "the cat";
    EXPECT_EQ(makeScenario(request).firstText(), "the cat");
}

} // namespace
} // namespace headscope
