#include "app/cli/model_facts.h"

#include "app/cli/numbers.h"
#include "core/model/parameters.h"
#include "core/tensor/number_text.h"

namespace headscope::cli {

namespace {

// What the block's forms are called, and what they compute (BlockForm).
struct BlockText {
    const char *name, *formula;
};
BlockText blockText(BlockForm form) {
    switch (form) {
    case BlockForm::Attention:
        return {"attention", "attention alone"};
    case BlockForm::PostNorm:
        return {"post-norm", "h1 = norm(h + attention(h)), h2 = norm(h1 + MLP(h1))"};
    case BlockForm::PreNorm:
        return {"pre-norm", "h1 = h + attention(norm(h)), h2 = h1 + MLP(norm(h1))"};
    case BlockForm::Parallel:
        return {"parallel", "h + attention(norm(h)) + MLP(norm(h)), each with its own norm"};
    }
    return {"", ""};
}

struct ActivationText {
    const char *id, *name;
};
ActivationText activationText(Activation activation) {
    switch (activation) {
    case Activation::Gelu:
        return {"gelu", "GELU"};
    case Activation::GeluTanh:
        return {"gelu_tanh", "GELU (tanh form)"};
    case Activation::Relu:
        return {"relu", "ReLU"};
    case Activation::Silu:
        return {"silu", "SiLU"};
    }
    return {"", ""};
}

std::string architecture(const Model& model) {
    const ModelConfig& c = model.config();
    if (c.site)
        return "encoder-decoder, " + std::to_string(model.atSite(Site::EncoderSelf)->config().layers) +
               " layers of self-attention and " + std::to_string(c.layers) +
               " of self- and cross-attention, each with " + "MLP, " + blockText(c.block).name;
    std::string text = std::to_string(c.layers) + (c.layers == 1 ? " layer of " : " layers of ");
    text += c.cross ? "cross-attention" : "self-attention";
    if (model.transformer())
        return (c.causal ? "decoder, " : "encoder, ") + text + " and MLP, " + blockText(c.block).name;
    text += ", no norm, no MLP";
    if (c.layers > 1)
        text += c.residual ? ", residual between the layers" : ", no residual between the layers";
    return text;
}

int ropeDims(const ModelConfig& c) {
    return c.ropeDims > 0 ? c.ropeDims : c.dK;
}

std::string positionText(const ModelConfig& c) {
    std::string text(positionName(c.position));
    if (c.position == Position::Rope)
        text += " (theta " + shortest(c.ropeTheta) + ", half-split pairs, " +
                (ropeDims(c) == c.dK ? "all " + std::to_string(c.dK)
                                     : std::to_string(ropeDims(c)) + " of " + std::to_string(c.dK)) +
                " dimensions of a head turn" + (c.ropeFrequencies.empty() ? "" : ", scaled frequencies") + ")";
    if (c.position == Position::Relative)
        text += " (a number per head and bucket of distances, added to the scaled scores)";
    if (c.position == Position::Learned && c.vocabulary > 0)
        text += " (a table of " + grouped(c.maxTokens) + ")";
    return text;
}

Json ropeJson(const ModelConfig& c) {
    if (c.position != Position::Rope)
        return nullptr;
    return {{"theta", c.ropeTheta}, {"dims", ropeDims(c)}, {"scaled", !c.ropeFrequencies.empty()}};
}

std::string maskText(const ModelConfig& c) {
    std::string text = c.causal ? "causal" : "none";
    if (c.slidingWindow > 0)
        text += ", sliding window of " + std::to_string(c.slidingWindow) + " tokens (itself and the " +
                std::to_string(c.slidingWindow - 1) + " before it)";
    return text;
}

std::string headsText(const ModelConfig& c) {
    if (c.kvHeads == c.heads)
        return std::to_string(c.heads);
    return std::to_string(c.heads) + " query heads, " + std::to_string(c.kvHeads) + " key/value head" +
           (c.kvHeads == 1 ? " (multi-query attention)" : "s (grouped-query attention)");
}

std::string pairName(const ModelConfig& c) {
    const PairUse use = c.pair;
    return c.site                          ? "target"
           : use == PairUse::KeyText       ? "key text"
           : use == PairUse::SecondSegment ? "second segment"
                                           : "none";
}

// 1e-12 for the nearest float of it, which is what some files keep.
double asWritten(double value) {
    return parseFinite(headscope::shortest(static_cast<float>(value))).value_or(value);
}

// The lines of a transformer's blocks: norm, MLP, output layer, embedding.
void addTransformer(std::vector<ModelFact>& facts, const Model& model) {
    const ModelConfig& c = model.config();
    const Transformer* t = model.transformer();
    const char* norm = c.norm == Norm::Rms ? "RMSNorm" : "LayerNorm";
    const auto [activation, activationName] = activationText(c.activation);
    const bool gated = t && t->blocks.front().gate.w;
    const bool tied = outputIsTied(model);
    facts.push_back({t ? "block" : "", blockText(c.block).formula, {{"block", blockText(c.block).name}}});
    facts.push_back({t ? "norm" : "",
                     std::string(norm) + ", epsilon " + shortest(asWritten(c.normEpsilon)) +
                         (t && t->finalNorm.gain ? ", one more after the last layer" : ""),
                     {{"norm", t ? Json(norm) : Json()},
                      {"norm_epsilon", t ? Json(asWritten(c.normEpsilon)) : Json()},
                      {"final_norm", t && t->finalNorm.gain}}});
    facts.push_back({t ? "MLP" : "",
                     std::to_string(c.dFeedForward) + " wide, " + activationName +
                         (gated ? std::string(", gated") + (c.activation == Activation::Silu ? " (SwiGLU)" : "") : ""),
                     {{"d_ff", c.dFeedForward}, {"activation", t ? Json(activation) : Json()}, {"gated", gated}}});
    const OutputLayer* const output = model.outputLayer();
    const bool has = output != nullptr;
    facts.push_back({t ? "output layer" : "",
                     !has   ? "none: no logits"
                     : tied ? "tied: the rows of the token table"
                            : "its own table of " + grouped(output->vocabulary->rows()) + " rows",
                     {{"output_layer", !has ? Json() : Json(tied ? "tied" : "own")}}});
}

ModelFact parametersFact(const Model& model) {
    const ParameterCounts p = countParameters(model);
    std::string parts;
    for (const auto& [name, count] : {std::pair{"attention", p.attention},
                                      {"MLP", p.mlp},
                                      {"norms", p.norms},
                                      {"embeddings", p.embeddings},
                                      {"output layer", p.output}})
        if (count > 0)
            parts += (parts.empty() ? "" : ", ") + std::string(name) + " " + grouped(count);
    return {"parameters",
            grouped(p.total()) + " (" + parts + ")",
            {{"parameters", p.total()},
             {"parameters_by_part",
              {{"attention", p.attention},
               {"mlp", p.mlp},
               {"norms", p.norms},
               {"embeddings", p.embeddings},
               {"output_layer", p.output}}}}};
}

} // namespace

bool attentionHasBias(const Model& model) {
    const LayerWeights& layer = model.layer(LayerIndex{0});
    return layer.bQ || layer.bK || layer.bV || layer.bO;
}

// What the sites of an encoder-decoder do not share.
static ModelFact sitesFact(const Model& model) {
    if (!model.config().site)
        return {"", "", {{"sites", nullptr}}};
    std::string text;
    Json sites;
    for (const Site site : allSites) {
        const ModelConfig& c = model.atSite(site)->config();
        const std::string name(siteName(site));
        text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(c.layers) + " x " + std::to_string(c.heads) +
                " heads)";
        sites[name] = {{"layers", c.layers},
                       {"heads", c.heads},
                       {"position", positionName(c.position)},
                       {"causal", c.causal},
                       {"max_tokens", c.maxTokens}};
    }
    return {"sites", text, {{"sites", sites}}};
}

std::vector<ModelFact> modelFacts(const Model& model) {
    const ModelConfig& c = model.config();
    const LayerWeights& layer = model.layer(LayerIndex{0});
    std::vector<ModelFact> facts;
    facts.push_back({"family", c.family, {{"family", c.family}}});
    facts.push_back({"architecture", architecture(model), {{"architecture", architecture(model)}}});
    facts.push_back({"", "", {{"layers", c.layers}, {"cross", c.cross}, {"residual", c.residual}}});
    facts.push_back(sitesFact(model));
    facts.push_back({"d_model",
                     std::to_string(c.dModel) +
                         (c.dModelKey == c.dModel ? "" : " (queries), " + std::to_string(c.dModelKey) + " (keys)"),
                     {{"d_model", c.dModel}, {"d_model_key", c.dModelKey}, {"d_out", c.dOut}}});
    facts.push_back({"heads", headsText(c), {{"heads", c.heads}, {"kv_heads", c.kvHeads}}});
    facts.push_back({"d_k, d_v", std::to_string(c.dK) + ", " + std::to_string(c.dV), {{"d_k", c.dK}, {"d_v", c.dV}}});
    facts.push_back({"output of attention",
                     std::to_string(c.dOut) + (layer.wO ? " wide, through W_O" : " wide: concat, there is no W_O"),
                     Json::object()});
    std::string biases;
    for (const auto& [name, tensor] :
         {std::pair{"b_Q", layer.bQ}, {"b_K", layer.bK}, {"b_V", layer.bV}, {"b_O", layer.bO}})
        if (tensor)
            biases += (biases.empty() ? "" : ", ") + std::string(name);
    facts.push_back({"biases of attention", biases.empty() ? "none" : biases, {{"bias", attentionHasBias(model)}}});
    addTransformer(facts, model);
    // An encoder-decoder's positions and causal mask are those of its decoder's own attention.
    const SharedModel decoder = c.site ? model.atSite(Site::DecoderSelf) : nullptr;
    const ModelConfig& own = decoder ? decoder->config() : c;
    facts.push_back(
        {"position", positionText(own), {{"position", positionName(own.position)}, {"rope", ropeJson(own)}}});
    facts.push_back(
        {"own mask",
         maskText(own),
         {{"causal", own.causal}, {"sliding_window", c.slidingWindow > 0 ? Json(c.slidingWindow) : Json()}}});
    facts.push_back(
        {c.softcap > 0 ? "softcap" : "", shortest(c.softcap), {{"softcap", c.softcap > 0 ? Json(c.softcap) : Json()}}});
    facts.push_back({c.vocabulary > 0 ? "vocabulary" : "",
                     grouped(c.vocabulary) + " rows in the token table",
                     {{"vocabulary", c.vocabulary > 0 ? Json(c.vocabulary) : Json()}}});
    facts.push_back({"tokenizer", model.tokenizer().name(), {{"tokenizer", model.tokenizer().name()}}});
    facts.push_back({"second text", pairName(c), {{"pair", c.pair == PairUse::None ? Json() : Json(pairName(c))}}});
    facts.push_back({"longest text", grouped(c.maxTokens) + " tokens", {{"max_tokens", c.maxTokens}}});
    facts.push_back(parametersFact(model));
    return facts;
}

std::vector<std::string> modelNotes(const Model& model) {
    const ModelConfig& c = model.config();
    std::vector<std::string> notes = c.notes;
    if (!model.transformer())
        return notes;
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    if (!c.scaledByDk)
        notes.push_back("scores are not divided by sqrt(d_k): the model's own scale is none");
    if (model.outputLayer() && model.outputLayer()->scale != 1.0F)
        notes.push_back("hidden states are divided by sqrt(d_model) before the tied output layer");
    if (c.heads * c.dK != c.dModel)
        notes.push_back("heads * d_k is " + number(c.heads * c.dK) + ", d_model is " + number(c.dModel));
    if (c.kvHeads != c.heads)
        notes.push_back("each key/value head serves " + number(c.heads / c.kvHeads) + " query heads");
    if (c.slidingWindow > 0)
        notes.push_back("a token does not see more than " + number(c.slidingWindow - 1) + " tokens back");
    if (c.position == Position::Rope && ropeDims(c) != c.dK)
        notes.push_back("only the first " + number(ropeDims(c)) + " of " + number(c.dK) +
                        " dimensions of a head know the position");
    if (!c.ropeFrequencies.empty())
        notes.push_back("the rotary frequencies are scaled for longer texts");
    if (c.block == BlockForm::Parallel)
        notes.push_back("attention and MLP read the same input, side by side");
    const std::vector<Embedding::Part> tables = model.embedder().tensors();
    if (!tables.empty() && tables.front().values->cols() != c.dModel)
        notes.push_back("embeddings are " + number(tables.front().values->cols()) + " wide and projected to d_model");
    return notes;
}

} // namespace headscope::cli
