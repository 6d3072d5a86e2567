#include "core/model/builtin.h"

#include "core/model/attention_module.h"
#include "core/model/captured_attention.h"
#include "core/model/checkpoint.h"
#include "core/model/embedded.h"
#include "core/model/mapped_file.h"
#include "core/tensor/errors.h"

#include <filesystem>

namespace headscope {

std::string_view defaultModelName() {
    return "mini";
}

const std::vector<BuiltinModel>& builtinModels() {
    static const std::vector<BuiltinModel> models{
        {"mini", "a trained sentence encoder, all-MiniLM-L6-v2 (6 layers of 12 heads, up to 512 tokens)"},
        {"story", "a small trained decoder (3 layers of 4 heads): causal attention, names and pronouns, next tokens"},
        {"translate", "a small trained English-French encoder-decoder (2 + 2 layers of 4 heads): cross-attention"},
        {"patterns", "seven heads built by formula, each doing exactly what its name says (1 layer, up to 512 tokens)"},
        {"toy", "projections drawn from a seed, any d_model, heads, kv-heads, d_k, d_v and layers"},
        {"worked-example",
         "\"karina is to the store\" with d_model 2 and identity projections, small enough for paper"}};
    return models;
}

OpenedModel openModel(ModelSource source, const OpenHooks& hooks) {
    if (source.name == "toy") {
        SharedModel toy = makeToy(source.toy, source.cross, hooks);
        return {std::move(source), std::move(toy), nullptr, nullptr, {}};
    }
    if (source.name == "patterns")
        return {std::move(source), makePatterns(), nullptr, nullptr, {}};
    if (source.name == "worked-example")
        return {std::move(source), makeWorkedExample(), nullptr, nullptr, {}};
    if (source.name == "mini")
        return {std::move(source), embeddedMini(), nullptr, nullptr, {}};
    if (source.name == "story")
        return {std::move(source), embeddedStory(), nullptr, nullptr, {}};
    if (source.name == "translate")
        return {std::move(source), embeddedTranslate(), nullptr, nullptr, {}};
    if (source.name.find_first_of("/.") == std::string::npos) {
        std::string names;
        for (const BuiltinModel& m : builtinModels())
            names += m.name + ", ";
        throw InputError("the model '" + printable(source.name) + "' is unknown: expected " + names +
                         "or the path of a file");
    }
    if (std::filesystem::is_directory(source.name)) {
        source.name = hubSnapshot(source.name);
        return openFolder(std::move(source), hooks);
    }
    const auto file = openTensorFile(source.name);
    if (const auto gguf = std::dynamic_pointer_cast<const GgufFile>(file))
        return openGguf(std::move(source), *gguf, hooks);
    if (holdsCapturedAttention(*file))
        return openCapturedAttention(std::move(source), *file);
    try {
        return openAttentionModule(source, *file);
    } catch (const LoadError& e) {
        const std::filesystem::path config = std::filesystem::absolute(source.name).parent_path() / "config.json";
        if (!std::filesystem::exists(config) && e.entry().empty() && file->format() == "safetensors")
            throw LoadError(e.file(), "", "config.json beside it, or " + e.expected(), e.found(),
                            "for a whole checkpoint put its config.json there and name the folder");
        if (!std::filesystem::exists(config))
            throw;
        throw LoadError(e.file(), e.entry(), e.expected(), e.found(),
                        "a config.json is beside it: name the folder " + config.parent_path().string() +
                            " to open both");
    }
}

} // namespace headscope
