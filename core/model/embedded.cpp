#include "core/model/embedded.h"

#include "core/model/checkpoint.h"
#include "core/model/encoder_decoder.h"
#include "core/model/safetensors.h"
#include "core/text/tokenizer_json.h"

// The assembler puts the files into read-only data: no compile cost, and the pages are read when they are touched.
#define HEADSCOPE_EMBED(name, path)                                                                                    \
    __asm__(".section .rodata\n.balign 64\n.global headscope_" #name "\nheadscope_" #name ":\n.incbin \"" path         \
            "\"\n.global headscope_" #name "_end\nheadscope_" #name "_end:\n.byte 0\n.previous\n");                    \
    extern "C" const unsigned char headscope_##name[], headscope_##name##_end[]

HEADSCOPE_EMBED(mini, HEADSCOPE_MODELS "/mini/mini.gguf");
HEADSCOPE_EMBED(story_config, HEADSCOPE_MODELS "/story/config.json");
HEADSCOPE_EMBED(story_tokenizer, HEADSCOPE_MODELS "/story/tokenizer.json");
HEADSCOPE_EMBED(story_tensors, HEADSCOPE_MODELS "/story/model.safetensors");
HEADSCOPE_EMBED(translate_config, HEADSCOPE_MODELS "/translate/config.json");
HEADSCOPE_EMBED(translate_tokenizer, HEADSCOPE_MODELS "/translate/tokenizer.json");
HEADSCOPE_EMBED(translate_tensors, HEADSCOPE_MODELS "/translate/model.safetensors");

#undef HEADSCOPE_EMBED

namespace headscope {

static FileBytes bytesOf(const char* name, const unsigned char* begin, const unsigned char* end) {
    return {name, {begin, static_cast<std::size_t>(end - begin)}, nullptr};
}

SharedModel embeddedMini() {
    static const SharedModel model = [] {
        const auto file = parseGguf(bytesOf("mini", headscope_mini, headscope_mini_end));
        return buildModel(configOfGguf(*file), *file, tokenizerOfGguf(*file), "mini");
    }();
    return model;
}

namespace {

// A hub folder that stands in the program.
struct EmbeddedFolder {
    CheckpointConfig config;
    std::shared_ptr<const TensorFile> tensors;
    std::shared_ptr<const Tokenizer> tokenizer;
};

EmbeddedFolder folderOf(const FileBytes& config, const FileBytes& tokens, FileBytes tensors) {
    return {parseConfigJson(config.text(), config.path), parseSafetensors(std::move(tensors)),
            parseTokenizerJson(tokens.text(), tokens.path)};
}

} // namespace

SharedModel embeddedStory() {
    static const SharedModel model = [] {
        const EmbeddedFolder f =
            folderOf(bytesOf("story/config.json", headscope_story_config, headscope_story_config_end),
                     bytesOf("story/tokenizer.json", headscope_story_tokenizer, headscope_story_tokenizer_end),
                     bytesOf("story/model.safetensors", headscope_story_tensors, headscope_story_tensors_end));
        return buildModel(f.config, *f.tensors, f.tokenizer, "story");
    }();
    return model;
}

SharedModel embeddedTranslate() {
    static const SharedModel model = [] {
        const EmbeddedFolder f = folderOf(
            bytesOf("translate/config.json", headscope_translate_config, headscope_translate_config_end),
            bytesOf("translate/tokenizer.json", headscope_translate_tokenizer, headscope_translate_tokenizer_end),
            bytesOf("translate/model.safetensors", headscope_translate_tensors, headscope_translate_tensors_end));
        return buildEncoderDecoder(f.config, *f.tensors, f.tokenizer, f.tokenizer, "translate");
    }();
    return model;
}

} // namespace headscope
