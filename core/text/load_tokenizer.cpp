#include "core/text/load_tokenizer.h"

#include "core/tensor/errors.h"
#include "core/text/sentencepiece_tokenizer.h"
#include "core/text/tokenizer_files.h"
#include "core/text/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace headscope {

namespace {

namespace fs = std::filesystem;

bool isThere(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

std::string readFile(const fs::path& path) {
    // The largest published tokenizer.json has 35 MB: a file of another kind is not read into memory.
    constexpr std::uintmax_t largest = std::uintmax_t{512} << 20;
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error)
        throw LoadError(path.string(), "", "a file that can be read", error.message());
    if (size > largest)
        throw LoadError(path.string(), "", "a tokenizer file of at most 512 MiB", std::to_string(size) + " bytes");
    std::ifstream in(path, std::ios::binary);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (!in.read(bytes.data(), static_cast<std::streamsize>(size)))
        throw LoadError(path.string(), "", "a file that can be read", "an error while reading it");
    return bytes;
}

TokenizerConfig configBeside(const fs::path& folder) {
    const fs::path path = folder / "tokenizer_config.json";
    return isThere(path) ? parseTokenizerConfig(readFile(path), path.string()) : TokenizerConfig{};
}

std::shared_ptr<const Tokenizer> loadBytePairs(const fs::path& folder) {
    const fs::path vocabulary = folder / "vocab.json", merges = folder / "merges.txt";
    for (const fs::path& path : {vocabulary, merges})
        if (!isThere(path))
            throw LoadError(path.string(), "", "a file: vocab.json and merges.txt belong together", "none");
    return parseByteLevelBpe(readFile(vocabulary), vocabulary.string(), readFile(merges), merges.string(),
                             configBeside(folder));
}

std::shared_ptr<const Tokenizer> loadFolder(const fs::path& folder, const TokenizerOptions& options) {
    const auto has = [&](const char* name) { return isThere(folder / name); };
    const auto read = [&](const char* name) { return readFile(folder / name); };
    const auto named = [&](const char* name) { return (folder / name).string(); };
    if (has("tokenizer.json"))
        return parseTokenizerJson(read("tokenizer.json"), named("tokenizer.json"));
    if (has("source.spm") && has("target.spm") && has("vocab.json")) {
        const char* model = options.target ? "target.spm" : "source.spm";
        // With two vocabularies the target's ids are in a file of their own.
        const char* vocabulary = options.target && has("target_vocab.json") ? "target_vocab.json" : "vocab.json";
        return parseMarian(read(model), named(model), read(vocabulary), named(vocabulary));
    }
    for (const char* name : {"tokenizer.model", "spiece.model"})
        if (has(name))
            return parseSentencePiece(read(name), named(name), configBeside(folder));
    if (has("vocab.txt"))
        return parseWordPieceVocabulary(read("vocab.txt"), named("vocab.txt"), configBeside(folder));
    if (has("vocab.json") || has("merges.txt"))
        return loadBytePairs(folder);
    throw LoadError(
        folder.string(), "",
        "a tokenizer: tokenizer.json, tokenizer.model, spiece.model, vocab.txt, vocab.json + merges.txt, or "
        "source.spm + target.spm + vocab.json",
        "none of these files", "copy the tokenizer's files into the folder");
}

std::shared_ptr<const Tokenizer> loadFile(const fs::path& path) {
    std::string suffix = path.extension().string();
    std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (path.filename() == "vocab.json" || path.filename() == "merges.txt")
        return loadBytePairs(folder);
    if (suffix == ".json")
        return parseTokenizerJson(readFile(path), path.string());
    if (suffix == ".model" || suffix == ".spm")
        return parseSentencePiece(readFile(path), path.string(), configBeside(folder));
    if (suffix == ".txt") {
        const std::string bytes = readFile(path);
        if (bytes.starts_with("#version"))
            throw LoadError(path.string(), "", "vocab.json beside a list of merges named merges.txt", "merges alone",
                            "give the folder that holds both");
        return parseWordPieceVocabulary(bytes, path.string(), configBeside(folder));
    }
    throw LoadError(path.string(), "", "a tokenizer file ending in .json, .model, .spm or .txt", "'" + suffix + "'");
}

} // namespace

std::shared_ptr<const Tokenizer> loadTokenizer(const std::string& fileOrFolder, const TokenizerOptions& options) {
    const fs::path path(fileOrFolder);
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
        return loadFolder(path, options);
    if (!isThere(path))
        throw LoadError(fileOrFolder, "", "a tokenizer file or folder", "nothing there");
    return loadFile(path);
}

bool hasTokenizer(const std::string& folder) {
    constexpr std::array names{"tokenizer.json", "source.spm", "tokenizer.model", "spiece.model",
                               "vocab.txt",      "vocab.json", "merges.txt"};
    return std::ranges::any_of(names, [&](const char* name) { return isThere(fs::path(folder) / name); });
}

} // namespace headscope
