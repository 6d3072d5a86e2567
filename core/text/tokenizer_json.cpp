#include "core/text/tokenizer_json.h"

#include "core/text/byte_level_bpe.h"
#include "core/text/json_view.h"
#include "core/text/pre_tokenizers.h"
#include "core/text/subword_tokenizer.h"

#include <algorithm>

namespace headscope {

namespace {

using Parts = SubwordTokenizerParts;

constexpr int deepest = 16; // components inside components

[[noreturn]] void refuse(const JsonView& at, const char* what, const char* known) {
    at.at("type").fail(std::string("one of the ") + what + " " + known);
}

const std::string& typeOf(const JsonView& at) {
    return at.at("type").text();
}

void requireDepth(const JsonView& at, int depth) {
    at.require(depth < deepest, "components nested less deeply");
}

std::string decodeBase64(const JsonView& at) {
    std::string out;
    unsigned bits = 0;
    int count = 0;
    for (const char c : at.text()) {
        unsigned value = 64;
        if (c >= 'A' && c <= 'Z')
            value = static_cast<unsigned>(c - 'A');
        else if (c >= 'a' && c <= 'z')
            value = static_cast<unsigned>(c - 'a') + 26;
        else if (c >= '0' && c <= '9')
            value = static_cast<unsigned>(c - '0') + 52;
        else if (c == '+' || c == '/')
            value = c == '+' ? 62 : 63;
        else if (c == '=')
            break;
        at.require(value < 64, "base64");
        bits = bits << 6 | value;
        if ((count += 6) >= 8) {
            count -= 8;
            out += static_cast<char>(bits >> count & 0xFF);
        }
    }
    return out;
}

// {"String": "x"} or {"Regex": "x+"}
struct Pattern {
    std::string text;
    bool regex = false;
};
Pattern readPattern(const JsonView& at) {
    if (at.has("Regex"))
        return {at.at("Regex").text(), true};
    return {at.at("String").text(), false};
}

TextRegex compile(const Pattern& pattern, const JsonView& at) {
    return {pattern.text, at.file(), at.path()};
}

void readNormalizers(const JsonView& at, std::vector<TextStep>& out, Parts& parts, int depth = 0) {
    requireDepth(at, depth);
    const std::string& type = typeOf(at);
    if (type == "Sequence") {
        at.at("normalizers").eachItem([&](const JsonView& item) { readNormalizers(item, out, parts, depth + 1); });
    } else if (type == "BertNormalizer") {
        out.push_back(normalizeBert({.cleanText = at.boolean("clean_text", true),
                                     .handleChineseCharacters = at.boolean("handle_chinese_chars", true),
                                     .stripAccents = at.maybeBoolean("strip_accents"),
                                     .lowercase = at.boolean("lowercase", true)}));
    } else if (type == "NFC") {
        out.push_back(normalizeForm(UnicodeForm::Nfc));
    } else if (type == "NFD") {
        out.push_back(normalizeForm(UnicodeForm::Nfd));
    } else if (type == "NFKC") {
        out.push_back(normalizeForm(UnicodeForm::Nfkc));
    } else if (type == "NFKD") {
        out.push_back(normalizeForm(UnicodeForm::Nfkd));
    } else if (type == "Lowercase") {
        out.push_back(normalizeLowercase());
    } else if (type == "StripAccents") {
        out.push_back(normalizeStripAccents());
    } else if (type == "Strip") {
        out.push_back(normalizeStrip(at.boolean("strip_left", true), at.boolean("strip_right", true)));
    } else if (type == "Replace") {
        const Pattern pattern = readPattern(at.at("pattern"));
        const std::string content = at.at("content").text();
        out.push_back(pattern.regex ? normalizeReplace(compile(pattern, at), content)
                                    : normalizeReplace(pattern.text, content));
    } else if (type == "Prepend") {
        out.push_back(normalizePrepend(at.at("prepend").text()));
        parts.prefixSpace = true;
    } else if (type == "Precompiled") {
        if (at.has("precompiled_charsmap") && !at.at("precompiled_charsmap").text().empty())
            out.push_back(normalizePrecompiled(std::make_shared<const CharsMap>(
                decodeBase64(at.at("precompiled_charsmap")), at.file(), at.path() + ".precompiled_charsmap")));
    } else if (type == "ByteLevel") {
        out.push_back(byteLevel(false, false));
    } else {
        refuse(at, "normalizers",
               "Sequence, BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Replace, Prepend, "
               "Precompiled, ByteLevel");
    }
}

Delimiter readDelimiter(const JsonView& at) {
    const std::string name = at.text("behavior", "Isolated");
    static constexpr std::pair<const char*, Delimiter> names[] = {
        {"Removed", Delimiter::Removed},
        {"Isolated", Delimiter::Isolated},
        {"MergedWithPrevious", Delimiter::MergedWithPrevious},
        {"MergedWithNext", Delimiter::MergedWithNext},
        {"Contiguous", Delimiter::Contiguous},
    };
    for (const auto& [text, delimiter] : names)
        if (name == text)
            return delimiter;
    at.at("behavior").fail("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

std::string readMetaspaceMark(const JsonView& at) {
    std::string mark = at.text("replacement", "\u2581");
    at.require(countCharacters(mark) == 1, "a replacement of one character");
    return mark;
}

PrependScheme readScheme(const JsonView& at) {
    const std::string name = at.text("prepend_scheme", at.boolean("add_prefix_space", true) ? "always" : "never");
    if (name == "always")
        return PrependScheme::Always;
    if (name == "first")
        return PrependScheme::First;
    if (name != "never")
        at.at("prepend_scheme").fail("always, first or never");
    return PrependScheme::Never;
}

void readPreTokenizers(const JsonView& at, std::vector<TextStep>& out, Parts& parts, int depth = 0) {
    requireDepth(at, depth);
    const std::string& type = typeOf(at);
    if (type == "Sequence") {
        at.at("pretokenizers").eachItem([&](const JsonView& item) { readPreTokenizers(item, out, parts, depth + 1); });
    } else if (type == "BertPreTokenizer") {
        out.push_back(cutBertWords());
    } else if (type == "ByteLevel") {
        const bool prefix = at.boolean("add_prefix_space", true);
        out.push_back(byteLevel(prefix, at.boolean("use_regex", true)));
        parts.prefixSpace = parts.prefixSpace || prefix;
        parts.style = PieceStyle::ByteLevel;
    } else if (type == "Metaspace") {
        const PrependScheme scheme = readScheme(at);
        out.push_back(metaspace(readMetaspaceMark(at), scheme, at.boolean("split", true)));
        parts.prefixSpace = scheme != PrependScheme::Never;
        parts.style = PieceStyle::Metaspace;
    } else if (type == "Split") {
        const Pattern pattern = readPattern(at.at("pattern"));
        const bool invert = at.boolean("invert", false);
        out.push_back(pattern.regex ? cutRegex(compile(pattern, at), readDelimiter(at), invert)
                                    : cutLiteral(pattern.text, readDelimiter(at), invert));
    } else if (type == "Whitespace") {
        out.push_back(cutWordsAndSymbols());
    } else if (type == "WhitespaceSplit") {
        out.push_back(cutWhiteSpace());
    } else if (type == "Punctuation") {
        out.push_back(cutPunctuation(readDelimiter(at)));
    } else if (type == "Digits") {
        out.push_back(cutDigits(at.boolean("individual_digits", false)));
    } else if (type == "CharDelimiterSplit") {
        const std::string& delimiter = at.at("delimiter").text();
        at.require(countCharacters(delimiter) == 1, "a delimiter of one character");
        std::size_t first = 0;
        out.push_back(cutAtCharacter(nextCharacter(delimiter, first)));
    } else {
        refuse(at, "pre-tokenizers",
               "Sequence, BertPreTokenizer, ByteLevel, Metaspace, Split, Whitespace, WhitespaceSplit, Punctuation, "
               "Digits, CharDelimiterSplit");
    }
}

// "a b", or ["a", "b"], which allows spaces inside.
std::vector<Merge> readMerges(const JsonView& at) {
    std::vector<Merge> merges;
    at.eachItem([&](const JsonView& item) {
        if (item.isArray()) {
            item.require(item.size() == 2, "two pieces");
            merges.push_back({item.at(std::size_t{0}).text(), item.at(std::size_t{1}).text()});
            return;
        }
        const std::string& line = item.text();
        if (line.starts_with("#version"))
            return;
        merges.push_back(parseMerge(line, item.file(), item.path()));
    });
    return merges;
}

std::string modelType(const JsonView& at) {
    if (at.has("type"))
        return typeOf(at);
    if (at.has("merges")) // older files do not say
        return "BPE";
    if (at.at("vocab").isArray())
        return "Unigram";
    return at.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

void readModel(const JsonView& at, Parts& parts) {
    const std::string type = modelType(at);
    if (type == "WordPiece") {
        WordPieceOptions options{.unknown = at.text("unk_token", "[UNK]"),
                                 .prefix = at.text("continuing_subword_prefix", "##")};
        if (at.has("max_input_chars_per_word"))
            options.maxCharacters = at.at("max_input_chars_per_word").id();
        parts.style = PieceStyle::WordPiece;
        parts.continuation = options.prefix;
        Vocabulary vocabulary = readVocabulary(at.at("vocab"));
        parts.unknown = vocabulary.idOf(options.unknown);
        parts.model = makeWordPiece(std::move(vocabulary), std::move(options));
    } else if (type == "WordLevel") {
        Vocabulary vocabulary = readVocabulary(at.at("vocab"));
        const std::string unknown = at.text("unk_token", "<unk>");
        parts.unknown = vocabulary.idOf(unknown);
        parts.model = makeWordLevel(std::move(vocabulary), unknown);
    } else if (type == "BPE") {
        BpeOptions options{.prefix = at.text("continuing_subword_prefix", ""),
                           .suffix = at.text("end_of_word_suffix", ""),
                           .fuseUnknown = at.boolean("fuse_unk", false),
                           .byteFallback = at.boolean("byte_fallback", false),
                           .ignoreMerges = at.boolean("ignore_merges", false)};
        Vocabulary vocabulary = readVocabulary(at.at("vocab"));
        if (at.has("unk_token")) {
            options.unknown = at.at("unk_token").text();
            parts.unknown = vocabulary.idOf(*options.unknown);
        }
        parts.wordEnd = options.suffix;
        parts.model = makeBpe(std::move(vocabulary), readMerges(at.at("merges")), std::move(options), at.file());
    } else if (type == "Unigram") {
        UnigramOptions options{.byteFallback = at.boolean("byte_fallback", false)};
        if (at.has("unk_id"))
            options.unknown = at.at("unk_id").id();
        std::vector<std::pair<std::string, double>> pieces;
        at.at("vocab").eachItem([&](const JsonView& item) {
            item.require(item.isArray() && item.size() == 2, "a piece and its score");
            pieces.emplace_back(item.at(std::size_t{0}).text(), item.at(std::size_t{1}).number());
        });
        parts.unknown = options.unknown;
        parts.model = makeUnigram(pieces, options, at.file());
    } else {
        at.at("type").fail("one of the models WordPiece, WordLevel, BPE, Unigram");
    }
    parts.name = type;
}

void readAddedTokens(const JsonView& at, Parts& parts) {
    const Vocabulary& vocabulary = parts.model->vocabulary();
    std::unordered_map<std::int64_t, std::string> taken;
    at.eachItem([&](const JsonView& item) {
        AddedToken token{.id = item.at("id").id(),
                         .content = item.at("content").text(),
                         .special = item.boolean("special", false),
                         .singleWord = item.boolean("single_word", false),
                         .stripLeft = item.boolean("lstrip", false),
                         .stripRight = item.boolean("rstrip", false),
                         .normalized = item.boolean("normalized", true)};
        // The vocabulary's id counts where it has this piece, as in the published library.
        token.id = vocabulary.idOf(token.content).value_or(token.id);
        const std::string* piece = vocabulary.pieceOf(token.id);
        const auto [other, isNew] = taken.emplace(token.id, token.content);
        if ((piece && *piece != token.content) || (!isNew && other->second != token.content))
            throw LoadError(item.file(), item.path(), "an id of its own for '" + token.content + "'",
                            "id " + std::to_string(token.id) + ", which is '" + (piece ? *piece : other->second) + "'");
        if (isNew)
            parts.added.push_back(std::move(token));
    });
}

// One side of a TemplateProcessing: [{"SpecialToken": {"id", "type_id"}}, {"Sequence": {"id": "A", "type_id"}}, ...]
std::vector<TemplatePart> readTemplate(const JsonView& at, const JsonView& special) {
    std::vector<TemplatePart> out;
    at.eachItem([&](const JsonView& item) {
        if (item.has("Sequence")) {
            const std::string& name = item.at("Sequence").at("id").text();
            item.require(name == "A" || name == "B", "the text A or B");
            out.push_back({.text = name == "A" ? 0 : 1});
            return;
        }
        const JsonView token = item.at("SpecialToken");
        TemplatePart part;
        part.segment = token.has("type_id") ? static_cast<int>(token.at("type_id").id()) : 0;
        token.require(part.segment <= 1, "type_id 0 or 1");
        special.at(token.at("id").text().c_str()).at("ids").eachItem([&](const JsonView& id) {
            part.ids.push_back(id.id());
        });
        out.push_back(std::move(part));
    });
    return out;
}

// ["</s>", 2]
TemplatePart readSpecial(const JsonView& at, int segment) {
    at.require(at.isArray() && at.size() == 2, "a token and its id");
    return {.text = {}, .ids = {at.at(std::size_t{1}).id()}, .segment = segment};
}

void readPostProcessor(const JsonView& at, Parts& parts, int depth = 0) {
    requireDepth(at, depth);
    const std::string& type = typeOf(at);
    if (type == "Sequence") {
        at.at("processors").eachItem([&](const JsonView& item) { readPostProcessor(item, parts, depth + 1); });
    } else if (type == "ByteLevel") {
        parts.trimRanges = at.boolean("trim_offsets", true);
        parts.trimKeepsPrefix = at.boolean("add_prefix_space", true);
    } else if (type == "BertProcessing") {
        const TemplatePart end = readSpecial(at.at("sep"), 0);
        const TemplatePart begin = readSpecial(at.at("cls"), 0);
        parts.single = {begin, {.text = 0}, end};
        parts.pair = {begin, {.text = 0}, end, {.text = 1}, readSpecial(at.at("sep"), 1)};
    } else if (type == "RobertaProcessing") {
        const TemplatePart end = readSpecial(at.at("sep"), 0);
        const TemplatePart begin = readSpecial(at.at("cls"), 0);
        parts.single = {begin, {.text = 0}, end};
        parts.pair = {begin, {.text = 0}, end, readSpecial(at.at("sep"), 1), {.text = 1}, readSpecial(at.at("sep"), 1)};
        parts.trimRanges = at.boolean("trim_offsets", true);
        parts.trimKeepsPrefix = at.boolean("add_prefix_space", true);
    } else if (type == "TemplateProcessing") {
        parts.single = readTemplate(at.at("single"), at.at("special_tokens"));
        if (at.has("pair"))
            parts.pair = readTemplate(at.at("pair"), at.at("special_tokens"));
        const auto usesPair = [](const TemplatePart& part) { return part.text == 1; };
        at.at("single").require(std::none_of(parts.single.begin(), parts.single.end(), usesPair), "no text B");
    } else {
        refuse(at, "post-processors", "Sequence, ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing");
    }
}

// A decoder only says how pieces are shown: what is not named here changes nothing that Headscope shows.
void readDecoder(const JsonView& at, Parts& parts, int depth = 0) {
    requireDepth(at, depth);
    const std::string& type = typeOf(at);
    if (type == "Sequence") {
        at.at("decoders").eachItem([&](const JsonView& item) { readDecoder(item, parts, depth + 1); });
    } else if (type == "ByteLevel") {
        parts.style = PieceStyle::ByteLevel;
    } else if (type == "WordPiece") {
        parts.style = PieceStyle::WordPiece;
        parts.continuation = at.text("prefix", "##");
    } else if (type == "Metaspace") {
        parts.style = PieceStyle::Metaspace;
    } else if (type == "Replace") {
        if (const Pattern pattern = readPattern(at.at("pattern")); !pattern.regex && pattern.text == "\u2581")
            parts.style = PieceStyle::Metaspace;
    } else if (type == "BPEDecoder") {
        parts.wordEnd = at.text("suffix", "</w>");
    } else if (type != "ByteFallback" && type != "Fuse" && type != "Strip" && type != "CTC") {
        refuse(at, "decoders",
               "Sequence, ByteLevel, WordPiece, Metaspace, Replace, BPEDecoder, ByteFallback, Fuse, Strip, CTC");
    }
}

// Special tokens that a template names must exist.
void checkTemplates(const Parts& parts, const std::string& file) {
    const auto known = [&](std::int64_t id) {
        return parts.model->vocabulary().pieceOf(id) ||
               std::any_of(parts.added.begin(), parts.added.end(), [&](const AddedToken& t) { return t.id == id; });
    };
    for (const auto* side : {&parts.single, &parts.pair}) {
        int texts[2] = {0, 0};
        for (const TemplatePart& part : *side) {
            if (part.text && ++texts[*part.text] > 1)
                throw LoadError(file, "post_processor", "every text once", "a text twice");
            for (const std::int64_t id : part.ids)
                if (!known(id))
                    throw LoadError(file, "post_processor", "special tokens of the vocabulary",
                                    "id " + std::to_string(id) + ", which it lacks");
        }
    }
}

} // namespace

std::shared_ptr<const Tokenizer> parseTokenizerJson(std::string_view bytes, const std::string& file) {
    const nlohmann::json document = parseJson(bytes, file);
    const JsonView root(document, file);
    root.require(root.isObject(), "a tokenizer: an object with a 'model'");
    Parts parts;
    readModel(root.at("model"), parts);
    if (root.has("added_tokens"))
        readAddedTokens(root.at("added_tokens"), parts);
    if (root.has("normalizer"))
        readNormalizers(root.at("normalizer"), parts.normalizers, parts);
    if (root.has("pre_tokenizer"))
        readPreTokenizers(root.at("pre_tokenizer"), parts.preTokenizers, parts);
    if (root.has("post_processor"))
        readPostProcessor(root.at("post_processor"), parts);
    if (root.has("decoder"))
        readDecoder(root.at("decoder"), parts);
    checkTemplates(parts, file);
    parts.name += ", " + std::to_string(parts.model->vocabulary().size()) + " pieces";
    return makeSubwordTokenizer(std::move(parts));
}

} // namespace headscope
