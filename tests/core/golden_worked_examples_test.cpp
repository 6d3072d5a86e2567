// Thirteen attention examples that others published, recomputed by their collectors in float64. Where the published
// figure is wrong, the recomputed one counts. Every array of every example is reproduced by the engine, stage by stage.
#include "core/backend/backend.h"
#include "tests/support/golden.h"
#include "tests/support/json_matrix.h"
#include "tests/support/scenarios.h"

#include <functional>
#include <map>

namespace headscope::testing {
namespace {

using nlohmann::json;
using Arrays = std::map<std::string, Matrix>; // as the file names them

// One layer with the weights an example gives; a missing W_Q, W_K, W_V is the identity.
struct Layer {
    std::vector<Matrix> wQ, wK, wV; // one per head, (in, out)
    Matrix wO, bO;                  // empty: none
    double scale = 1;
    bool causal = false;
};

Matrix sideBySide(const std::vector<Matrix>& parts) {
    int cols = 0;
    for (const Matrix& p : parts) {
        cols += p.cols();
    }
    Matrix out(parts.at(0).rows(), cols);
    int at = 0;
    for (const Matrix& p : parts) {
        for (int r = 0; r < p.rows(); ++r) {
            std::ranges::copy(p.row(r), out.row(r).begin() + at);
        }
        at += p.cols();
    }
    return out;
}

// A text of n placeholder words: these examples give X, so words are only labels.
TokenSequence placeholders(int n) {
    TokenSequence tokens;
    for (int i = 0; i < n; ++i) {
        const std::string word = "t" + std::to_string(i);
        tokens.tokens.push_back({i, word, word, std::nullopt, false, 0});
    }
    return tokens;
}

SharedTrace runLayer(const Layer& layer, const Matrix& x) {
    ModelConfig c;
    c.name = c.family = "example";
    c.dModel = c.dModelKey = x.cols();
    c.heads = c.kvHeads = static_cast<int>(layer.wQ.size());
    c.dK = layer.wQ[0].cols();
    c.dV = layer.wV[0].cols();
    c.dOut = layer.wO.empty() ? c.heads * c.dV : layer.wO.cols();
    c.residual = false;
    c.causal = layer.causal;
    LayerWeights w;
    w.wQ = share(sideBySide(layer.wQ));
    w.wK = share(sideBySide(layer.wK));
    w.wV = share(sideBySide(layer.wV));
    w.wO = layer.wO.empty() ? nullptr : share(layer.wO);
    w.bO = layer.bO.empty() ? nullptr : share(layer.bO);
    Scenario s;
    s.original = s.model = std::make_shared<const Model>(c, std::vector{w}, makeWordTokenizer(), nullptr);
    s.query = placeholders(x.rows());
    s.x = share(x);
    s.scale = {Scale::Kind::Number, layer.scale};
    return run(s);
}

// For examples that begin at the scores: Q = scores, K = identity, so that Q K^T are the scores exactly.
HeadRows attendScores(const Matrix& scores, double scale, const Mask& mask, const Matrix& v) {
    const int n = scores.rows(), m = scores.cols();
    const Matrix k = identity(m, m);
    const KeyMask open = resolveMask(mask, ModelMask{}, n, m);
    HeadProblem p;
    p.q = scores;
    p.k = k;
    p.v = v;
    p.scale = static_cast<float>(scale);
    p.mask = &open;
    return backendByName("auto").attend(p, 0, n, {true, true, true, true, true});
}

Matrix input(const json& file, const std::string& name) {
    return matrixFrom(file.at("inputs").at(name));
}
Matrix inputT(const json& file, const std::string& name) {
    return transposed(input(file, name));
} // (out, in) or tokens in columns
Matrix published(const json& file, const std::string& name) {
    return matrixFrom(file.at("published").at(name).at("values"));
}
Matrix rowOf(const Matrix& m, int row) {
    return copy(MatrixView(m).rowRange(row, row + 1));
}
const double sqrt2 = std::sqrt(2.0), sqrt3 = std::sqrt(3.0);

// --- the examples ---

Arrays aiByHandThreeHeads(const json& f) { // tokens in columns: everything is transposed
    Layer layer;
    for (const std::string h : {"head0_", "head1_", "head2_"}) {
        layer.wQ.push_back(inputT(f, h + "Wq"));
        layer.wK.push_back(inputT(f, h + "Wk"));
        layer.wV.push_back(inputT(f, h + "Wv"));
    }
    layer.wO = inputT(f, "Wo");
    layer.scale = 1 / sqrt3;
    const SharedTrace t = runLayer(layer, inputT(f, "X_cols"));
    Arrays out{{"output", transposed(stageOf(t, Stage::Output))}};
    for (int h = 0; h < 3; ++h) {
        const std::string head = "head" + std::to_string(h) + "_";
        out[head + "q"] = transposed(stageOf(t, Stage::Q, h));
        out[head + "k"] = transposed(stageOf(t, Stage::K, h));
        out[head + "v"] = transposed(stageOf(t, Stage::V, h));
        out[head + "scaled"] = transposed(stageOf(t, Stage::Scaled, h));
        out[head + "A"] = transposed(stageOf(t, Stage::Weights, h));
        out[head + "Z"] = transposed(stageOf(t, Stage::HeadOutput, h));
    }
    return out;
}

Arrays aiByHandSelfAttention(const json& f) { // keys are rows there: K^T Q is our scores transposed
    const Layer layer{{inputT(f, "Wq")}, {inputT(f, "Wk")}, {inputT(f, "Wv")}, {}, {}, 1 / sqrt3};
    const SharedTrace t = runLayer(layer, inputT(f, "X_cols"));
    return {{"q", transposed(stageOf(t, Stage::Q))},           {"k", transposed(stageOf(t, Stage::K))},
            {"v", transposed(stageOf(t, Stage::V))},           {"KtQ", transposed(stageOf(t, Stage::Scores))},
            {"scaled", transposed(stageOf(t, Stage::Scaled))}, {"A", transposed(stageOf(t, Stage::Weights))},
            {"Z", transposed(stageOf(t, Stage::HeadOutput))}};
}

Arrays alammarGpt2(const json& f) {
    Matrix scores = input(f, "masked_scores");
    for (float& s : scores.values()) {
        s = std::isinf(s) ? 0.0F : s; // closed cells: the causal mask closes them again
    }
    return {{"softmax", attendScores(scores, 1, parseMask("causal"), identity(4, 4)).weights}};
}

Arrays alammarScore(const json& f) {
    const HeadRows rows = attendScores(input(f, "scores"), 1.0 / 8, parseMask("none"), identity(2, 2));
    return {{"scaled", rows.scaled}, {"softmax", rows.weights}};
}

Arrays hackerllama(const json& f) { // scores over sqrt(3) saturate, so the article then divides by 30 instead
    Layer layer{{input(f, "WQ1"), input(f, "WQ2")},
                {input(f, "WK1"), input(f, "WK2")},
                {input(f, "WV1"), input(f, "WV2")},
                input(f, "WO"),
                {},
                1 / sqrt3};
    const SharedTrace t = runLayer(layer, input(f, "X"));
    layer.scale = 1.0 / 30;
    const SharedTrace by30 = runLayer(layer, input(f, "X"));
    const Matrix z = stageOf(by30, Stage::Output);

    // The layer norm after attention is not the engine's: (x - mean) / (population deviation + 1e-6) of x = Z + X.
    Matrix norm = z;
    const Matrix x = input(f, "X");
    for (int r = 0; r < norm.rows(); ++r) {
        double mean = 0, variance = 0;
        for (int c = 0; c < norm.cols(); ++c) {
            norm(r, c) += x(r, c);
            mean += norm(r, c) / static_cast<double>(norm.cols());
        }
        for (const float v : norm.row(r)) {
            variance += (v - mean) * (v - mean) / static_cast<double>(norm.cols());
        }
        for (float& v : norm.row(r)) {
            v = static_cast<float>((v - mean) / (std::sqrt(variance) + 1e-6));
        }
    }
    return {{"Q1", stageOf(t, Stage::Q, 0)},
            {"K1", stageOf(t, Stage::K, 0)},
            {"V1", stageOf(t, Stage::V, 0)},
            {"scores1", stageOf(t, Stage::Scores, 0)},
            {"scaled1", stageOf(t, Stage::Scaled, 0)},
            {"softmax1", stageOf(t, Stage::Weights, 0)},
            {"softmax2", stageOf(t, Stage::Weights, 1)},
            {"attention1", stageOf(t, Stage::HeadOutput, 0)},
            {"attention2", stageOf(t, Stage::HeadOutput, 1)},
            {"attention1_div30", stageOf(by30, Stage::HeadOutput, 0)},
            {"attention2_div30", stageOf(by30, Stage::HeadOutput, 1)},
            {"Z", z},
            {"layer_norm", norm}};
}

Arrays crossAttentionWords(const json& f) { // 3 queries, 6 keys, Q, K and V given
    const Matrix q = input(f, "Q"), k = input(f, "K"), v = input(f, "V_float32");
    const KeyMask open = resolveMask(parseMask("none"), ModelMask{}, q.rows(), k.rows());
    HeadProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    p.scale = 0.5F; // 1 / sqrt(4)
    p.mask = &open;
    const HeadRows rows = backendByName("auto").attend(p, 0, q.rows(), {true, true, true, true, true});
    return {{"weights", rows.weights}, {"output", rows.output}};
}

Arrays raschkaOutputProjection(const json& f) {
    // Weights (out, in) of both heads in one matrix: head h has column h of the transposed one.
    const auto heads = [&](const std::string& name) {
        const Matrix w = inputT(f, name);
        return std::vector{copy(headBand(w, 0, 1)), copy(headBand(w, 1, 1))};
    };
    const Layer layer{heads("W_query_out_in"),
                      heads("W_key_out_in"),
                      heads("W_value_out_in"),
                      inputT(f, "out_proj_weight"),
                      input(f, "out_proj_bias"),
                      1.0,
                      true};
    return {{"context", stageOf(runLayer(layer, input(f, "X")), Stage::Output)}};
}

Arrays raschkaWrapper(const json& f) {
    const auto heads = [&](const std::string& name) {
        return std::vector{inputT(f, "head0_" + name), inputT(f, "head1_" + name)};
    };
    const Layer layer{heads("W_query_out_in"), heads("W_key_out_in"), heads("W_value_out_in"), {}, {}, 1 / sqrt2, true};
    return {{"context", stageOf(runLayer(layer, input(f, "X")), Stage::Concat)}};
}

Arrays raschkaSimplified(const json& f) {
    const Matrix one = identity(3, 3);
    const SharedTrace t = runLayer({{one}, {one}, {one}, {}, {}, 1.0}, input(f, "X"));
    return {{"scores", stageOf(t, Stage::Scores)},
            {"weights", stageOf(t, Stage::Weights)},
            {"context", stageOf(t, Stage::HeadOutput)}};
}

Arrays raschkaTrainable(const json& f) { // _2: the second word's row
    const Layer layer{{input(f, "W_query")}, {input(f, "W_key")}, {input(f, "W_value")}, {}, {}, 1 / sqrt2};
    const SharedTrace t = runLayer(layer, input(f, "X"));
    return {{"query_2", rowOf(stageOf(t, Stage::Q), 1)},
            {"scores_2", rowOf(stageOf(t, Stage::Scores), 1)},
            {"weights_2", rowOf(stageOf(t, Stage::Weights), 1)},
            {"weights", stageOf(t, Stage::Weights)},
            {"context", stageOf(t, Stage::HeadOutput)}};
}

Arrays karina(const json& f) { // and what would follow from the figures as they were printed
    const Matrix one = identity(2, 2), x = input(f, "X"), printed = published(f, "softmax");
    const SharedTrace t = runLayer({{one}, {one}, {one}, {}, {}, 1 / sqrt2}, x);
    return {
        {"QKt", stageOf(t, Stage::Scores)},
        {"scaled", stageOf(t, Stage::Scaled)},
        {"softmax", stageOf(t, Stage::Weights)},
        {"output", stageOf(t, Stage::HeadOutput)},
        {"printed_softmax_row_sums", transposed(backendByName("auto").linear(printed, Matrix(5, 1, 1.0F), nullptr))},
        {"softmax_of_printed_scaled", attendScores(published(f, "scaled"), 1, parseMask("none"), x).weights},
        {"output_from_printed_softmax", backendByName("auto").linear(printed, x, nullptr)}};
}

Arrays statquestTwoHeads(const json& f) {
    const auto heads = [&](const std::string& name) {
        return std::vector{inputT(f, "head0_" + name), inputT(f, "head1_" + name)};
    };
    const Layer layer{heads("W_q_out_in"), heads("W_k_out_in"), heads("W_v_out_in"), {}, {}, 1 / sqrt2};
    return {{"output", stageOf(runLayer(layer, input(f, "X")), Stage::Concat)}};
}

Arrays statquestSelfAttention(const json& f) {
    Layer layer{{input(f, "W_q_in_out")}, {input(f, "W_k_in_out")}, {input(f, "W_v_in_out")}, {}, {}, 1 / sqrt2};
    const SharedTrace t = runLayer(layer, input(f, "X"));
    layer.causal = true;
    const SharedTrace masked = runLayer(layer, input(f, "X"));
    return {{"W_q", input(f, "W_q_in_out")},
            {"W_k", input(f, "W_k_in_out")},
            {"W_v", input(f, "W_v_in_out")},
            {"q", stageOf(t, Stage::Q)},
            {"k", stageOf(t, Stage::K)},
            {"v", stageOf(t, Stage::V)},
            {"scores", stageOf(t, Stage::Scores)},
            {"scaled", stageOf(t, Stage::Scaled)},
            {"weights", stageOf(t, Stage::Weights)},
            {"output", stageOf(t, Stage::HeadOutput)},
            {"weights_masked", stageOf(masked, Stage::Weights)},
            {"output_masked", stageOf(masked, Stage::HeadOutput)}};
}

struct Example {
    const char* file;
    Arrays (*compute)(const json&);
};
const Example examples[] = {{"aibyhand-multihead-3", aiByHandThreeHeads},
                            {"aibyhand-selfattention-4", aiByHandSelfAttention},
                            {"alammar-gpt2-masked-softmax", alammarGpt2},
                            {"alammar-transformer-score", alammarScore},
                            {"hackerllama-random-transformer", hackerllama},
                            {"llmuseful-crossattention-words", crossAttentionWords},
                            {"raschka-ch3-mha-outproj", raschkaOutputProjection},
                            {"raschka-ch3-mha-wrapper", raschkaWrapper},
                            {"raschka-ch3-simplified", raschkaSimplified},
                            {"raschka-ch3-trainable", raschkaTrainable},
                            {"seed004-karina", karina},
                            {"statquest-multihead", statquestTwoHeads},
                            {"statquest-selfattention", statquestSelfAttention}};

class WorkedExamples : public ::testing::TestWithParam<Example> {};

TEST_P(WorkedExamples, EveryArrayIsReproduced) {
    HEADSCOPE_NEEDS_SHARED_DATA("worked-examples");
    const json file = readJson(sharedData("worked-examples/" + std::string(GetParam().file) + ".json"));
    const Arrays computed = GetParam().compute(file);
    for (const auto& [name, values] : file.at("recomputed_float64").items()) {
        ASSERT_TRUE(computed.contains(name)) << name << " is in the file and not computed";
        expectGolden(name, computed.at(name), expectedFrom(values), 1e-6);
    }
}

TEST(WorkedExamples, NoExampleIsForgotten) {
    HEADSCOPE_NEEDS_SHARED_DATA("worked-examples");
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(sharedData("worked-examples"))) {
        files += entry.path().extension() == ".json" ? 1 : 0;
    }
    EXPECT_EQ(files, std::size(examples));
}

INSTANTIATE_TEST_SUITE_P(Published, WorkedExamples, ::testing::ValuesIn(examples), [](const auto& test) {
    std::string name = test.param.file;
    std::ranges::replace(name, '-', '_');
    return name;
});

} // namespace
} // namespace headscope::testing
