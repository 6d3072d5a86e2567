// Tokenizer files that broke other loaders: what must load loads, what must be refused is refused in one sentence that
// names the file.
#include "core/tensor/errors.h"
#include "core/text/load_tokenizer.h"
#include "tests/support/golden.h"
#include "tests/support/token_lists.h"

#include <nlohmann/json.hpp>

namespace headscope::testing {
namespace {

std::shared_ptr<const Tokenizer> openMalformed(const std::string& name) {
    return loadTokenizer(sharedData("malformed/tokenizer/" + name).string());
}

TEST(MalformedTokenizers, AreWhatTheManifestSays) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/manifest.json");
    const auto manifest = nlohmann::json::parse(bytesOfFile(sharedData("malformed/manifest.json").string()));
    int files = 0;
    for (const auto& [name, entry] : manifest.items()) {
        if (!name.starts_with("tokenizer/"))
            continue;
        ++files;
        SCOPED_TRACE(name + ": " + entry["what"].get<std::string>());
        const std::string path = sharedData("malformed/" + name).string();
        try {
            loadTokenizer(path)->tokenize("ab a");
            EXPECT_NE(entry["expect"], "reject");
        } catch (const LoadError& error) {
            EXPECT_NE(entry["expect"], "load") << error.what();
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        }
    }
    EXPECT_EQ(files, 14);
}

TEST(MalformedTokenizers, ThatLoadGiveTheRightTokens) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/tokenizer");
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(idsOf(openMalformed("ok-wordpiece.json")->tokenize("ab a")), (Ids{3, 1}));
    EXPECT_EQ(idsOf(openMalformed("bad-ids-gap.json")->tokenize("ab a")), (Ids{3, 1}));
    EXPECT_EQ(piecesOf(openMalformed("vocab-crlf.txt")->tokenize("ab")),
              (std::vector<std::string>{"[CLS]", "a", "##b", "[SEP]"}));
    EXPECT_EQ(idsOf(openMalformed("vocab-no-final-newline.txt")->tokenize("a")), Ids{2});
    EXPECT_EQ(idsOf(openMalformed("vocab-line-separator.txt")->tokenize("a")), Ids{4});
    EXPECT_EQ(idsOf(openMalformed("vocab-blank-line.txt")->tokenize("a")), Ids{3});
}

} // namespace
} // namespace headscope::testing
