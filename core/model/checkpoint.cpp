#include "core/model/checkpoint.h"

#include "core/model/checkpoint_builder.h"
#include "core/model/encoder_decoder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headscope {

namespace {

using nlohmann::json;

// One meaning, and the names it goes by in config.json.
struct ConfigKey {
    const char* meaning;
    std::vector<const char*> names;
};
const std::vector<ConfigKey>& configKeys() {
    static const std::vector<ConfigKey> keys{{"layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
                                             {"encoder_layers", {"encoder_layers", "num_layers"}},
                                             {"decoder_layers", {"decoder_layers", "num_decoder_layers", "num_layers"}},
                                             {"encoder_heads", {"encoder_attention_heads", "num_heads"}},
                                             {"decoder_heads", {"decoder_attention_heads", "num_heads"}},
                                             {"d_model", {"hidden_size", "n_embd", "dim", "d_model"}},
                                             {"heads", {"num_attention_heads", "n_head", "n_heads"}},
                                             {"kv_heads", {"num_key_value_heads"}},
                                             {"head_dim", {"head_dim", "d_kv"}},
                                             {"norm_epsilon", {"layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"}},
                                             {"positions", {"max_position_embeddings", "n_positions"}},
                                             {"rope_theta", {"rope_theta", "rotary_emb_base"}},
                                             {"rope_share", {"rotary_pct", "partial_rotary_factor"}},
                                             {"sliding_window", {"sliding_window"}},
                                             {"use_sliding_window", {"use_sliding_window"}},
                                             {"pad_id", {"pad_token_id"}},
                                             {"parallel_residual", {"use_parallel_residual"}},
                                             {"relative_buckets", {"relative_attention_num_buckets"}},
                                             {"relative_distance", {"relative_attention_max_distance"}},
                                             {"scale_embedding", {"scale_embedding"}},
                                             {"tied", {"tie_word_embeddings"}},
                                             {"scale_output", {"scale_decoder_outputs"}},
                                             {"target_start", {"decoder_start_token_id"}},
                                             {"target_first", {"forced_bos_token_id"}},
                                             {"target_end", {"eos_token_id"}},
                                             {"scale_by_layer", {"scale_attn_by_inverse_layer_idx"}},
                                             {"scale_weights", {"scale_attn_weights"}}};
    return keys;
}

} // namespace

// Options that change the attention and are not computed here: refused by name, never passed over.
static void refuseUnread(const json& j, const std::string& file) {
    if (const auto it = j.find("position_embedding_type"); it != j.end() && *it != "absolute" && !it->is_null())
        throw LoadError(file, "position_embedding_type", "\"absolute\"", it->dump().substr(0, 80));
    for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (const auto it = j.find(name); it != j.end() && !it->is_null())
            throw LoadError(file, name, "none", it->dump().substr(0, 80));
    for (const char* name : {"normalize_before", "add_final_layer_norm"}) // BART's relatives with the norm first
        if (const auto it = j.find(name); it != j.end() && *it == true)
            throw LoadError(file, name, "false: the norm behind each part", "true");
    const FamilyNames* names = familyOf(j.value("model_type", std::string()), false);
    const bool isEncoder = names && !names->causal;
    if (const auto it = j.find("is_decoder"); isEncoder && it != j.end() && *it == true)
        throw LoadError(file, "is_decoder", "false: an encoder", "true");
}

// A window counts where layers attend in it: Qwen2's first layers may not, and a model is refused in which some do.
static void readSlidingLayers(const json& j, CheckpointConfig& c) {
    const auto number = [&](const char* meaning, double otherwise) {
        const auto it = c.numbers.find(meaning);
        return it == c.numbers.end() ? otherwise : it->second;
    };
    if (number("use_sliding_window", 1) == 0 || number("sliding_window", 0) <= 0) {
        c.numbers.erase("sliding_window");
        return;
    }
    const double layers = number("layers", 0);
    double within = layers;
    if (const auto types = j.find("layer_types"); types != j.end() && types->is_array())
        within = static_cast<double>(std::ranges::count(*types, json("sliding_attention")));
    else if (const auto first = j.find("max_window_layers");
             c.family == "qwen2" && first != j.end() && first->is_number())
        within = std::clamp(layers - first->get<double>(), 0.0, layers);
    if (within == 0)
        c.numbers.erase("sliding_window");
    else if (within != layers)
        throw LoadError(c.file, "layer_types",
                        "the same attention in all " + std::to_string(static_cast<int>(layers)) + " layers",
                        "a sliding window in " + std::to_string(static_cast<int>(within)) + " of them");
}

// Lists of ids that are not to be written; only single ids count.
static void readNeverWritten(const json& j, CheckpointConfig& c) {
    const auto it = j.find("bad_words_ids");
    if (it == j.end() || !it->is_array())
        return;
    for (const json& words : *it)
        if (words.is_array() && words.size() == 1 && words[0].is_number_integer())
            c.neverWritten.push_back(words[0].get<std::int64_t>());
}

CheckpointConfig parseConfigJson(std::string_view text, const std::string& file) {
    const json j = json::parse(text, nullptr, false);
    if (!j.is_object())
        throw LoadError(file, "", "a JSON object", "something else");
    CheckpointConfig c;
    c.file = file;
    if (!j.contains("model_type") || !j["model_type"].is_string())
        throw LoadError(file, "model_type", "one of " + familyList(), "nothing");
    c.family = j["model_type"].get<std::string>();
    for (const ConfigKey& key : configKeys())
        for (const char* name : key.names)
            if (const auto it = j.find(name); it != j.end() && !it->is_null() && !c.numbers.contains(key.meaning)) {
                if (it->is_structured() && std::string_view(key.meaning).starts_with("target_"))
                    continue; // several end tokens: decoders alone have them
                if (!it->is_number() && !it->is_boolean())
                    throw LoadError(file, name, "a number", it->type_name());
                c.numbers[key.meaning] = it->is_boolean() ? (it->get<bool>() ? 1 : 0) : it->get<double>();
            }
    for (const char* name : {"hidden_act", "activation_function", "activation"})
        if (const auto it = j.find(name); it != j.end() && it->is_string())
            c.strings["activation"] = it->get<std::string>();
    if (const auto it = j.find("feed_forward_proj"); it != j.end() && it->is_string()) { // T5
        const std::string form = it->get<std::string>();
        c.strings["activation"] = form == "gated-gelu"         ? "gelu_new"
                                  : form.starts_with("gated-") ? form.substr(6)
                                                               : form;
    }
    readNeverWritten(j, c);
    refuseUnread(j, file);
    readSlidingLayers(j, c);
    // Newer configs keep theta and the scaling together in "rope_parameters".
    const char* const scaling = j.contains("rope_parameters") ? "rope_parameters" : "rope_scaling";
    if (const auto it = j.find(scaling); it != j.end() && it->is_object()) {
        const auto number = [&](const char* meaning, double otherwise) {
            return c.numbers.contains(meaning) ? c.numbers[meaning] : otherwise;
        };
        for (const auto& [meaning, name] :
             {std::pair{"rope_theta", "rope_theta"}, std::pair{"rope_share", "partial_rotary_factor"}})
            if (const auto value = it->find(name); value != it->end() && value->is_number())
                c.numbers[meaning] = value->get<double>();
        const double headDim =
            number("head_dim", number("heads", 0) > 0 ? number("d_model", 0) / number("heads", 1) : 0);
        const int dims = static_cast<int>(std::clamp(headDim * number("rope_share", 1), 0.0, 65536.0));
        try {
            c.ropeScaling = ropeScalingOf(*it, dims, number("rope_theta", 10000), file);
        } catch (const json::exception&) {
            throw LoadError(file, scaling, "numbers", "something else");
        }
    }
    for (const char* meaning : {"rope_theta", "norm_epsilon"})
        if (const auto it = c.numbers.find(meaning); it != c.numbers.end() && !(it->second > 0))
            throw LoadError(file, meaning, "a number above 0", std::to_string(it->second));
    return c;
}

void readGenerationJson(std::string_view text, CheckpointConfig& config) {
    const json j = json::parse(text, nullptr, false);
    if (!j.is_object())
        return;
    for (const ConfigKey& key : configKeys())
        if (std::string_view(key.meaning).starts_with("target_"))
            if (const auto it = j.find(key.names.front()); it != j.end() && it->is_number())
                config.numbers.try_emplace(key.meaning, it->get<double>());
    readNeverWritten(j, config);
}

SharedModel buildModel(const CheckpointConfig& from, const TensorFile& tensors,
                       std::shared_ptr<const Tokenizer> tokenizer, const std::string& name) {
    const FamilyNames* names = familyOf(from.family, from.gguf);
    if (!names)
        throw LoadError(from.file, from.gguf ? "general.architecture" : "model_type", "one of " + familyList(),
                        from.family);
    const CheckpointBuilder builder(from, *names, tensors);
    ModelConfig c = builder.config(name);
    std::vector<LayerWeights> layers;
    layers.reserve(static_cast<std::size_t>(c.layers));
    for (int l = 0; l < c.layers; ++l)
        layers.push_back(builder.attention(c, l));
    TableEmbedding embedding = builder.embedding(c);
    c.vocabulary = embedding.token->rows();
    // Encoders with a segment table join two texts; RoBERTa's has one row and still joins them.
    if (!c.causal && (embedding.segment || from.family == "distilbert"))
        c.pair = PairUse::SecondSegment;
    if (tokenizer->vocabularySize() > static_cast<std::size_t>(c.vocabulary))
        c.notes.push_back("the tokenizer knows " + std::to_string(tokenizer->vocabularySize()) +
                          " pieces, the token table has " + std::to_string(c.vocabulary) + " rows");
    auto transformer = std::make_shared<Transformer>(builder.transformer(c));
    transformer->output = builder.output(c, embedding.token);
    return std::make_shared<const Model>(c, std::move(layers), std::move(tokenizer),
                                         makeTableEmbedder(std::move(embedding)), std::move(transformer));
}

} // namespace headscope
