#include "core/text/tokenizer_files.h"

#include "core/text/byte_level_bpe.h"
#include "core/text/json_view.h"
#include "core/text/pre_tokenizers.h"

#include <algorithm>

namespace headscope {

namespace {

// "[CLS]", or {"content": "[CLS]", ...}
std::optional<std::string> readToken(const JsonView& root, const char* key) {
    if (!root.has(key))
        return std::nullopt;
    const JsonView value = root.at(key);
    return value.isObject() ? value.at("content").text() : value.text();
}

std::int64_t numberOf(const std::string& key, const JsonView& at) {
    const bool digits = !key.empty() && key.size() < 10 &&
                        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    at.require(digits, "ids as names");
    return std::stoll(key);
}

// Calls visit(line) without line ends, and not for an empty rest behind the last one.
template<class Visit>
void eachLine(std::string_view bytes, const Visit& visit) {
    if (bytes.starts_with("\xEF\xBB\xBF"))
        bytes.remove_prefix(3);
    while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size());
        std::string_view line = bytes.substr(0, end);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        visit(line);
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
}

void requireText(std::string_view bytes, const std::string& file) {
    try {
        requireUtf8(bytes, "the file");
    } catch (const InputError& error) {
        throw LoadError(file, "", "text in UTF-8", error.what());
    }
}

bool isAdded(const std::vector<AddedToken>& added, std::string_view content) {
    return std::any_of(added.begin(), added.end(), [&](const AddedToken& token) { return token.content == content; });
}

} // namespace

TokenizerConfig parseTokenizerConfig(std::string_view bytes, const std::string& file) {
    const nlohmann::json document = parseJson(bytes, file);
    const JsonView root(document, file);
    root.require(root.isObject(), "an object");
    TokenizerConfig config;
    config.file = file;
    config.tokenizerClass = root.text("tokenizer_class", "");
    if (config.tokenizerClass.ends_with("Fast"))
        config.tokenizerClass.resize(config.tokenizerClass.size() - 4);
    config.lowercase = root.maybeBoolean("do_lower_case");
    config.stripAccents = root.maybeBoolean("strip_accents");
    config.chineseCharacters = root.maybeBoolean("tokenize_chinese_chars");
    config.addPrefixSpace = root.maybeBoolean("add_prefix_space");
    config.addBos = root.maybeBoolean("add_bos_token");
    config.addEos = root.maybeBoolean("add_eos_token");
    config.bos = readToken(root, "bos_token");
    config.eos = readToken(root, "eos_token");
    config.unknown = readToken(root, "unk_token");
    config.pad = readToken(root, "pad_token");
    config.mask = readToken(root, "mask_token");
    config.cls = readToken(root, "cls_token");
    config.sep = readToken(root, "sep_token");
    if (root.has("added_tokens_decoder"))
        root.at("added_tokens_decoder").eachMember([&](const std::string& key, const JsonView& token) {
            config.added.push_back({.id = numberOf(key, token),
                                    .content = token.at("content").text(),
                                    .special = token.boolean("special", false),
                                    .singleWord = token.boolean("single_word", false),
                                    .stripLeft = token.boolean("lstrip", false),
                                    .stripRight = token.boolean("rstrip", false),
                                    .normalized = token.boolean("normalized", false)});
        });
    return config;
}

std::shared_ptr<const Tokenizer> makeBertTokenizer(BertVocabulary source, const TokenizerConfig& config,
                                                   const std::string& file) {
    Vocabulary vocabulary;
    bool capitals = false;
    const std::string* special[] = {&source.pad, &source.unknown, &source.cls, &source.sep, &source.mask};
    for (auto& [piece, id] : source.pieces) {
        const bool bracketed = piece.starts_with('[') && piece.ends_with(']');
        capitals |= !bracketed && std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
        if (!vocabulary.add(std::move(piece), id))
            throw LoadError(file, "vocabulary", "one piece for each id", "id " + std::to_string(id) + " twice");
    }
    SubwordTokenizerParts parts;
    parts.added = std::move(source.added);
    for (const std::string* content : special)
        if (const auto id = vocabulary.idOf(*content); id && !isAdded(parts.added, *content))
            parts.added.push_back({.id = *id, .content = *content, .special = true});
    parts.normalizers.push_back(normalizeBert({.handleChineseCharacters = config.chineseCharacters.value_or(true),
                                               .stripAccents = config.stripAccents,
                                               .lowercase = config.lowercase.value_or(!capitals)}));
    parts.preTokenizers.push_back(cutBertWords());
    const auto cls = vocabulary.idOf(source.cls), sep = vocabulary.idOf(source.sep);
    if (cls && sep) {
        const TemplatePart begin{.text = {}, .ids = {*cls}}, end{.text = {}, .ids = {*sep}};
        parts.single = {begin, {.text = 0}, end};
        parts.pair = {begin, {.text = 0}, end, {.text = 1}, {.text = {}, .ids = {*sep}, .segment = 1}};
    }
    parts.unknown = vocabulary.idOf(source.unknown);
    if (!parts.unknown)
        throw LoadError(file, "vocabulary", "an unknown token '" + source.unknown + "'",
                        std::to_string(vocabulary.size()) + " pieces without it");
    parts.style = PieceStyle::WordPiece;
    parts.name = "WordPiece, " + std::to_string(vocabulary.size()) + " pieces";
    parts.model = makeWordPiece(std::move(vocabulary), {.unknown = source.unknown});
    return makeSubwordTokenizer(std::move(parts));
}

std::shared_ptr<const Tokenizer> parseWordPieceVocabulary(std::string_view bytes, const std::string& file,
                                                          const TokenizerConfig& config) {
    requireText(bytes, file);
    BertVocabulary vocabulary;
    vocabulary.unknown = config.unknown.value_or(vocabulary.unknown);
    vocabulary.cls = config.cls.value_or(vocabulary.cls);
    vocabulary.sep = config.sep.value_or(vocabulary.sep);
    vocabulary.pad = config.pad.value_or(vocabulary.pad);
    vocabulary.mask = config.mask.value_or(vocabulary.mask);
    vocabulary.added = config.added;
    eachLine(bytes, [&](std::string_view line) {
        vocabulary.pieces.emplace_back(line, static_cast<std::int64_t>(vocabulary.pieces.size()));
    });
    return makeBertTokenizer(std::move(vocabulary), config, file);
}

std::shared_ptr<const Tokenizer> parseByteLevelBpe(std::string_view vocabularyJson, const std::string& vocabularyFile,
                                                   std::string_view mergesText, const std::string& mergesFile,
                                                   const TokenizerConfig& config) {
    Vocabulary vocabulary = parseVocabularyJson(vocabularyJson, vocabularyFile);
    requireText(mergesText, mergesFile);
    std::vector<Merge> merges;
    std::size_t lineNumber = 0;
    eachLine(mergesText, [&](std::string_view line) {
        // Only the first line can be a comment: "#" also begins merges.
        if (++lineNumber == 1 && line.starts_with("#version"))
            return;
        if (!line.empty())
            merges.push_back(parseMerge(line, mergesFile, "line " + std::to_string(lineNumber)));
    });

    static constexpr std::string_view robertas[] = {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"};
    static constexpr std::string_view gpts[] = {"GPT2Tokenizer", "GPTNeoXTokenizer"};
    const auto isOneOf = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), config.tokenizerClass) != std::end(names);
    };
    const bool unsaid = config.tokenizerClass.empty() || config.tokenizerClass == "PreTrainedTokenizer";
    const bool qwen = config.tokenizerClass == "Qwen2Tokenizer";
    if (!unsaid && !qwen && !isOneOf(robertas) && !isOneOf(gpts))
        throw LoadError(config.file, "tokenizer_class",
                        "one of the classes GPT2Tokenizer, GPTNeoXTokenizer, RobertaTokenizer, BartTokenizer, "
                        "LongformerTokenizer, Qwen2Tokenizer beside " +
                            vocabularyFile,
                        "'" + config.tokenizerClass + "'", "save the tokenizer as tokenizer.json");
    const bool roberta = isOneOf(robertas) || (unsaid && vocabulary.idOf("<s>") && vocabulary.idOf("</s>"));

    // Every string that a file names as special; and of those that the families have, what is in the vocabulary.
    std::vector<AddedToken> added = config.added;
    const auto add = [&](const std::optional<std::string>& content, bool stripLeft = false) {
        if (content && !isAdded(added, *content))
            if (const auto id = vocabulary.idOf(*content))
                added.push_back({.id = *id, .content = *content, .special = true, .stripLeft = stripLeft});
    };
    for (const auto& content : {config.bos, config.eos, config.unknown, config.pad, config.cls, config.sep})
        add(content);
    add(config.mask, true);
    if (roberta) {
        for (const char* content : {"<s>", "<pad>", "</s>", "<unk>"})
            add(content);
        add("<mask>", true);
    } else {
        add("<|endoftext|>");
    }

    const auto requireToken = [&](const std::optional<std::string>& content, const char* otherwise) {
        const std::string name = content.value_or(otherwise);
        if (const auto id = vocabulary.idOf(name))
            return *id;
        const auto found = std::find_if(added.begin(), added.end(), [&](const auto& t) { return t.content == name; });
        if (found != added.end())
            return found->id;
        throw LoadError(vocabularyFile, "", "the special token '" + name + "'", "a vocabulary without it");
    };
    std::vector<TemplatePart> single{{.text = 0}}, pair{{.text = 0}, {.text = 1}};
    if (roberta) {
        const TemplatePart begin{.text = {}, .ids = {requireToken(config.cls, "<s>")}};
        const TemplatePart end{.text = {}, .ids = {requireToken(config.sep, "</s>")}};
        TemplatePart end1 = end;
        end1.segment = 1;
        single = {begin, {.text = 0}, end};
        pair = {begin, {.text = 0}, end, end1, {.text = 1}, end1};
    } else if (config.addBos.value_or(false)) {
        const TemplatePart begin{.text = {}, .ids = {requireToken(config.bos, "<|endoftext|>")}};
        single.insert(single.begin(), begin);
        pair.insert(pair.begin(), begin);
    }

    SubwordTokenizerParts parts = byteLevelParts(std::move(vocabulary), merges, *byteLevelPattern(qwen ? "qwen2" : ""),
                                                 config.addPrefixSpace.value_or(false), vocabularyFile);
    parts.added = std::move(added);
    parts.single = std::move(single);
    parts.pair = std::move(pair);
    parts.trimRanges = roberta;
    parts.trimKeepsPrefix = config.addPrefixSpace.value_or(false);
    return makeSubwordTokenizer(std::move(parts));
}

} // namespace headscope
