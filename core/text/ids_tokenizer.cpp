#include "core/text/ids_tokenizer.h"

#include "core/tensor/errors.h"

namespace headscope {

namespace {

class IdsTokenizer final : public Tokenizer {
public:
    explicit IdsTokenizer(std::string from) : m_from(std::move(from)) {}

    std::string name() const override { return "none: ids alone"; }
    TokenSequence tokenize(std::string_view) const override {
        throw InputError(m_from + " has no tokenizer: give --ids instead of a text, or put the model's tokenizer.json, "
                                  "vocab.txt or tokenizer.model beside it");
    }
    TokenSequence encode(const TokenizerInput& input) const override { return tokenize(input.text); }
    Token tokenOf(std::int64_t id) const override {
        return {.id = id, .piece = std::to_string(id), .text = std::to_string(id)};
    }

private:
    std::string m_from;
};

} // namespace

std::shared_ptr<const Tokenizer> makeIdsTokenizer(std::string from) {
    return std::make_shared<const IdsTokenizer>(std::move(from));
}

} // namespace headscope
