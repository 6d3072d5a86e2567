#include "core/text/byte_level_bpe.h"

#include "core/tensor/errors.h"
#include "core/text/pre_tokenizers.h"

#include <algorithm>

namespace headscope {

namespace {

struct NamedPattern {
    std::vector<std::string_view> names;
    ByteLevelPattern pattern;
};

// As the families' own tokenizer.json have them.
const std::vector<NamedPattern>& patterns() {
    static const std::string gpt2(gpt2Pattern());
    static const std::string llama3 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                                      R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    static const std::string qwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                                     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    static const std::vector<NamedPattern> table{
        {{"", "default", "gpt-2", "gpt2", "roberta-bpe", "olmo", "phi-2", "mpt"}, {.cuts = {gpt2}}},
        {{"llama-bpe", "llama3", "llama-v3"}, {.cuts = {llama3}, .ignoreMerges = true, .addBos = true}},
        {{"qwen2", "deepseek-r1-qwen"}, {.cuts = {qwen2}, .nfc = true}},
        {{"smollm", "starcoder"}, {.cuts = {R"(\p{N})", gpt2}}},
    };
    return table;
}

} // namespace

const ByteLevelPattern* byteLevelPattern(std::string_view name) {
    for (const NamedPattern& entry : patterns())
        if (std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end())
            return &entry.pattern;
    return nullptr;
}

std::string byteLevelPatternNames() {
    std::string out;
    for (const NamedPattern& entry : patterns())
        for (const std::string_view name : entry.names)
            if (!name.empty())
                out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

Merge parseMerge(std::string_view line, const std::string& file, const std::string& entry) {
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
        throw LoadError(file, entry, "two pieces with one space between them", "'" + std::string(line) + "'");
    return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

SubwordTokenizerParts byteLevelParts(Vocabulary vocabulary, const std::vector<Merge>& merges,
                                     const ByteLevelPattern& pattern, bool addPrefixSpace, const std::string& file) {
    SubwordTokenizerParts parts;
    parts.name = "byte-level BPE, " + std::to_string(vocabulary.size()) + " pieces";
    parts.model = makeBpe(std::move(vocabulary), merges, {.ignoreMerges = pattern.ignoreMerges}, file);
    if (pattern.nfc)
        parts.normalizers.push_back(normalizeForm(UnicodeForm::Nfc));
    for (std::size_t i = 0; i < pattern.cuts.size(); ++i) {
        if (i == 0 && addPrefixSpace)
            parts.preTokenizers.push_back(prefixSpace());
        parts.preTokenizers.push_back(
            cutRegex(TextRegex(pattern.cuts[i], file, "pattern"), Delimiter::Isolated, false));
    }
    parts.preTokenizers.push_back(byteLevel(false, false));
    parts.prefixSpace = addPrefixSpace;
    parts.style = PieceStyle::ByteLevel;
    return parts;
}

} // namespace headscope
