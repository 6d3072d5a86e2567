#include "core/model/builtin.h"

#include "core/model/attention_module.h"
#include "core/tensor/errors.h"

namespace headscope {

std::string_view defaultModelName() {
    return "patterns";
}

const std::vector<BuiltinModel>& builtinModels() {
    static const std::vector<BuiltinModel> models{
        {"patterns", "seven heads built by formula, each doing exactly what its name says (1 layer, up to 512 tokens)"},
        {"toy", "projections drawn from a seed, any d_model, heads, kv-heads, d_k, d_v and layers"},
        {"worked-example",
         "\"karina is to the store\" with d_model 2 and identity projections, small enough for paper"}};
    return models;
}

OpenedModel openModel(ModelSource source) {
    if (source.name == "toy") {
        SharedModel toy = makeToy(source.toy, source.cross);
        return {std::move(source), std::move(toy), nullptr, nullptr};
    }
    if (source.name == "patterns")
        return {std::move(source), makePatterns(), nullptr, nullptr};
    if (source.name == "worked-example")
        return {std::move(source), makeWorkedExample(), nullptr, nullptr};
    if (source.name.find_first_of("/.") == std::string::npos) {
        std::string names;
        for (const BuiltinModel& m : builtinModels())
            names += m.name + ", ";
        throw InputError("the model '" + source.name + "' is unknown: expected " + names + "or the path of a file");
    }
    const auto file = openTensorFile(source.name);
    return openAttentionModule(source, *file);
}

} // namespace headscope
