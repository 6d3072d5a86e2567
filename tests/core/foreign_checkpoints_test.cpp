// Trained checkpoints whose authors published what comes out of them.
#include "core/attention/block.h"
#include "core/tensor/arithmetic.h"
#include "tests/support/checkpoints.h"
#include "tests/support/foreign_checkpoints.h"
#include "tests/support/golden.h"
#include "tests/support/llama2c_vocabulary.h"

#include <set>
#include <sstream>

namespace headscope {

namespace {

using namespace testing;

// Every intermediate tensor that minGPT's authors saved, for all three sequences of the batch.
TEST(GptNanoSort, GivesEveryPublishedIntermediate) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/gpt-nano-sort");
    const std::string folder = sharedData("checkpoints/gpt-nano-sort").string();
    const ForeignCheckpoint from = readMinGpt(folder + "/gpt-nano-sort-model.json");
    const SharedModel model = buildModel(from.config, from.tensors, std::make_shared<IdsOnly>(), "gpt-nano");
    const nlohmann::json saved = nlohmann::json::parse(readFile(folder + "/gpt-nano-sort-t0-partials.json"));
    const Backend& backend = referenceBackend();
    const Transformer& transformer = *model->transformer();

    double farthestOfAll = 0;
    std::set<std::string> compared;
    for (std::size_t b = 0; b < 3; ++b) {
        // Tensor `name` of sequence b; what does not depend on the sequence has a first size of 1.
        const auto published = [&](const std::string& name) {
            const std::vector<float> all = *floatsFromBase64(saved[name]["data"].get<std::string>());
            const std::size_t parts = saved[name]["shape"][0].get<std::size_t>(), size = all.size() / parts;
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(parts == 1 ? 0 : b * size);
            return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(size));
        };
        const auto compare = [&](const std::string& name, const std::vector<float>& ours) {
            const std::vector<float> theirs = published(name);
            const double relative = farthest(ours, theirs) / std::max(1.0, largestFinite(theirs));
            EXPECT_LE(relative, 2e-6) << name << " of sequence " << b;
            farthestOfAll = std::max(farthestOfAll, relative);
            compared.insert(name);
        };
        const auto compareMatrix = [&](const std::string& name, const Matrix& m) {
            compare(name, {m.values().begin(), m.values().end()});
        };

        std::vector<std::int64_t> ids;
        for (const float id : published("idx"))
            ids.push_back(static_cast<std::int64_t>(id));
        const SharedTrace t = trace(scenarioOf(model, ids), backend);
        const LayerTrace& first = t->layer(LayerIndex{0});
        compare("idx", std::vector<float>(ids.begin(), ids.end()));
        compareMatrix("tok_emb", *t->embedding.parts.at(0).values);
        compareMatrix("pos_emb", *t->embedding.parts.at(1).values);
        compareMatrix("x", *first.stream);
        compareMatrix("ln1", *first.x);
        std::vector<float> qkv;
        for (int i = 0; i < first.x->rows(); ++i)
            for (const SharedMatrix& part : {first.projectionQ, first.projectionK, first.projectionV})
                qkv.insert(qkv.end(), part->row(i).begin(), part->row(i).end());
        compare("qkv", qkv);
        for (const auto& [name, stage] : {std::pair{"q", Stage::Q},
                                          {"k", Stage::K},
                                          {"v", Stage::V},
                                          {"att", Stage::Masked},
                                          {"attSm", Stage::Weights}})
            compare(name, perHead(*t, 0, stage));
        compareMatrix("y", *first.concat);
        compareMatrix("yProj", *first.output);

        // The rest of the block, step by step.
        const BlockWeights& block = transformer.blocks.front();
        const SharedMatrix attended = share(sum(*first.stream, *first.output));
        const SharedMatrix ln2 = normalized(attended, block.norm2, Norm::Layer, model->config().normEpsilon);
        const Matrix fc = backend.linear(*ln2, *block.up.w, block.up.b.get());
        compareMatrix("attnResid", *attended);
        compareMatrix("ln2", *ln2);
        compareMatrix("fc", fc);
        std::vector<float> gelu;
        for (const double v : fc.values())
            gelu.push_back(
                static_cast<float>(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))));
        compare("gelu", gelu);
        const Matrix mlp = feedForward(backend, *ln2, block, model->config().activation);
        compareMatrix("mlp", mlp);
        compareMatrix("mlpResid", sum(*attended, mlp));
        for (int l = 0; l < 3; ++l)
            compareMatrix("block" + std::to_string(l), *t->layer(LayerIndex{l}).hidden);
        compareMatrix("ln_f", *t->hidden);
        const Matrix logits = logitsOf(*t);
        compareMatrix("lm_head", logits);
        std::vector<float> probabilities;
        for (int i = 0; i < logits.rows(); ++i) {
            double total = 0;
            for (const float v : logits.row(i))
                total += std::exp(static_cast<double>(v));
            for (const float v : logits.row(i))
                probabilities.push_back(static_cast<float>(std::exp(static_cast<double>(v)) / total));
        }
        compare("probs", probabilities);
    }
    EXPECT_EQ(compared.size(), 25U);
    std::cout << "    25 tensors: largest difference " << farthestOfAll << '\n';
}

TEST(GptNanoSort, AgreesWithTheFloat64ReferenceInEveryLayer) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/gpt-nano-sort");
    const std::string folder = sharedData("checkpoints/gpt-nano-sort").string();
    const ForeignCheckpoint from = readMinGpt(folder + "/gpt-nano-sort-model.json");
    const SharedModel model = buildModel(from.config, from.tensors, std::make_shared<IdsOnly>(), "gpt-nano");
    const Arrays expected(folder + "/ref_attention_f64.npz");
    const std::vector<float> idx = expected.at("idx"), logits = expected.at("logits");
    for (std::size_t b = 0; b < 3; ++b) {
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < 11; ++i)
            ids.push_back(static_cast<std::int64_t>(idx[b * 11 + i]));
        const SharedTrace t = trace(scenarioOf(model, ids), referenceBackend());
        for (int l = 0; l < 3; ++l) {
            const std::vector<float> all = expected.at("L" + std::to_string(l));
            EXPECT_LE(farthest(perHead(*t, l, Stage::Weights), std::span(all).subspan(b * 363, 363)), 2e-6);
        }
        EXPECT_LE(farthest(logitsOf(*t).values(), std::span(logits).subspan(b * 33, 33)) / largestFinite(logits), 2e-6);
    }
}

// The likeliest token again and again, from the beginning of a text.
std::vector<std::int64_t> greedy(const SharedModel& model, std::vector<std::int64_t> ids, std::size_t length) {
    while (ids.size() < length) {
        const SharedTrace t = trace(scenarioOf(model, ids), referenceBackend());
        const Matrix all = logitsOf(*t);
        const auto last = all.row(all.rows() - 1);
        ids.push_back(std::ranges::max_element(last) - last.begin());
    }
    return ids;
}

// What llama2.c prints for `run stories260K.bin -t 0 -n 200`: after each of its tokens the next one is the likeliest.
TEST(Stories260K, WritesThePublishedText) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/stories260K");
    const std::string folder = sharedData("checkpoints/stories260K").string();
    const ForeignCheckpoint from = readLlama2c(folder + "/stories260K.bin");
    const SharedModel model = buildModel(from.config, from.tensors, std::make_shared<IdsOnly>(), "stories260K");
    const auto tokenizer = makeGgufTokenizer(readLlama2cVocabulary(folder + "/tok512.bin"), "tok512.bin");
    std::string published = readFile(folder + "/expected_stdout_200.txt");
    while (published.ends_with('\n'))
        published.pop_back();
    const std::vector<std::int64_t> ids = idsOf(tokenizer->tokenize(published));
    ASSERT_EQ(ids.size(), 201U); // BOS and what it wrote
    ASSERT_EQ(ids.front(), 1);
    const SharedTrace t = trace(scenarioOf(model, ids), referenceBackend());
    const Matrix all = logitsOf(*t);
    std::vector<std::int64_t> written{1};
    for (int i = 0; i + 1 < all.rows(); ++i)
        written.push_back(std::ranges::max_element(all.row(i)) - all.row(i).begin());
    EXPECT_EQ(written, ids);
}

TEST(Stories260K, TheProgramsOwnFileGivesTheAttentionOfTheOthers) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/stories260K");
    const std::string folder = sharedData("checkpoints/stories260K").string();
    const Arrays expected(folder + "/ref_attention_once-upon-a-time.npz");
    std::vector<std::int64_t> ids;
    for (const float id : expected.at("ids"))
        ids.push_back(static_cast<std::int64_t>(id));
    const ForeignCheckpoint from = readLlama2c(folder + "/stories260K.bin");
    const SharedTrace t =
        trace(scenarioOf(buildModel(from.config, from.tensors, std::make_shared<IdsOnly>(), "stories260K"), ids),
              referenceBackend());
    std::vector<float> weights;
    for (int l = 0; l < 5; ++l) {
        const std::vector<float> layer = perHead(*t, l, Stage::Weights);
        weights.insert(weights.end(), layer.begin(), layer.end());
    }
    EXPECT_LE(farthest(weights, expected.at("attention")), 2e-6);
    const std::vector<float> logits = expected.at("logits");
    EXPECT_LE(farthest(logitsOf(*t).values(), logits) / largestFinite(logits), 2e-6);
}

TEST(TinyRandomGpt2, GivesThePublishedLogitsAndTokens) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/tiny-random-gpt2");
    const std::string folder = sharedData("checkpoints/tiny-random-gpt2").string();
    const SharedModel model = modelOfIds(folder);
    const nlohmann::json published = nlohmann::json::parse(readFile(folder + "/expected.json"));
    const Arrays reference(folder + "/ref_f64.npz");
    int count = 0;
    double largest = 0;
    for (std::size_t b = 0; b < 2; ++b) {
        const auto ids = published["input_ids"][b].get<std::vector<std::int64_t>>();
        const SharedTrace t = trace(scenarioOf(model, ids), referenceBackend());
        const Matrix all = logitsOf(*t);
        std::size_t at = 0;
        for (const double expected : published["sampled_logits_every_200"][b]) {
            largest = std::max(largest, std::abs(all.values()[at] - expected));
            at += 200;
            ++count;
        }
        const std::string number = std::to_string(b);
        std::vector<float> weights;
        for (int l = 0; l < 5; ++l) {
            const std::vector<float> layer = perHead(*t, l, Stage::Weights);
            weights.insert(weights.end(), layer.begin(), layer.end());
        }
        EXPECT_LE(farthest(weights, reference.at("attn_" + number)), 2e-6);
        EXPECT_LE(farthest(all.values(), reference.at("logits_" + number)), 2e-6);
        EXPECT_EQ(greedy(model, ids, 10), published["greedy_10"][b].get<std::vector<std::int64_t>>());
    }
    EXPECT_EQ(count, 40);
    EXPECT_LE(largest, 2e-6); // published with 8 decimals, computed in float32
    std::cout << "    40 logits: largest difference " << largest << '\n';
}

TEST(TinyBertColdfire, AgreesWithTheReference) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/tiny-bert-coldfire");
    const std::string folder = sharedData("checkpoints/tiny-bert-coldfire").string();
    const SharedModel model = modelOfIds(folder);
    const Arrays expected(folder + "/ref_f64.npz");
    std::vector<std::int64_t> ids;
    for (const float id : expected.at("ids"))
        ids.push_back(static_cast<std::int64_t>(id));
    const Scenario s = scenarioOf(model, ids);
    const SharedTrace t = trace(s, referenceBackend());
    const std::vector<float> attention = expected.at("attention");
    for (int l = 0; l < 2; ++l)
        EXPECT_LE(farthest(perHead(*t, l, Stage::Weights),
                           std::span(attention).subspan(static_cast<std::size_t>(l) * 144, 144)),
                  1e-6);
    EXPECT_LE(farthest(t->hidden->values(), expected.at("last_hidden")), 5e-6);
}

// The attention of this model is nearly uniform, which forgives much. With W_Q and b_Q c times as large the scores are
// c times as large, so a row is softmax(c log A) of what was published.
TEST(TinyBertColdfire, AgreesAlsoWithQueriesScaledUp) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/tiny-bert-coldfire");
    const std::string folder = sharedData("checkpoints/tiny-bert-coldfire").string();
    constexpr double c = 200;
    Scenario s = scenarioOf(modelOfIds(folder), {});
    const auto file = openTensorFile(folder + "/ref_f64.npz");
    for (const double id : file->readDoubles(*file->find("ids")))
        s.query.tokens.push_back(s.model->tokenizer().tokenOf(static_cast<std::int64_t>(id)));
    for (const WeightKind kind : {WeightKind::WQ, WeightKind::BQ}) {
        Matrix scaled = *s.model->tensor({LayerIndex{0}, kind});
        for (float& v : scaled.values())
            v *= static_cast<float>(c);
        s.model = s.model->withTensor({LayerIndex{0}, kind}, share(std::move(scaled)));
    }
    const std::vector<float> ours = perHead(*trace(s, referenceBackend()), 0, Stage::Weights);
    const std::vector<double> published = file->readDoubles(*file->find("attention"));
    double largest = 0, peak = 0;
    for (std::size_t row = 0; row < 4 * 6; ++row) {
        double total = 0;
        std::vector<double> sharpened;
        for (std::size_t j = 0; j < 6; ++j) {
            sharpened.push_back(std::exp(c * std::log(published[row * 6 + j] / published[row * 6])));
            total += sharpened.back();
        }
        for (std::size_t j = 0; j < 6; ++j) {
            largest = std::max(largest, std::abs(ours[row * 6 + j] - sharpened[j] / total));
            peak = std::max(peak, sharpened[j] / total);
        }
    }
    EXPECT_GT(peak, 0.5); // no longer uniform
    EXPECT_LE(largest, 2e-5);
    std::cout << "    largest weight " << peak << ", largest difference " << largest << '\n';
}

// A trained encoder-decoder from right to left to left to right: Arabic names in English letters.
class ArabicNames : public ::testing::Test {
protected:
    void SetUp() override {
        HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/ct2-aren-transliteration");
        folder = sharedData("checkpoints/ct2-aren-transliteration").string();
        const ForeignCheckpoint from = readCTranslate2(folder + "/model.npz");
        model = buildEncoderDecoder(from.config, cTranslate2Names(), from.tensors, std::make_shared<IdsOnly>(),
                                    std::make_shared<IdsOnly>(), "aren");
        expected = nlohmann::json::parse(readFile(folder + "/expected.json"));
    }
    std::vector<std::int64_t> ids(const nlohmann::json& letters, const std::string& vocabulary) const {
        std::vector<std::string> all;
        std::istringstream lines(readFile(folder + "/" + vocabulary));
        for (std::string line; std::getline(lines, line);)
            all.push_back(line);
        std::vector<std::int64_t> out;
        for (const auto& letter : letters)
            out.push_back(std::ranges::find(all, letter.get<std::string>()) - all.begin());
        return out;
    }
    // Seen at decoder.cross. Without a target it is written when it is traced.
    Scenario scenario(const nlohmann::json& letters, std::optional<std::vector<std::int64_t>> target) const {
        Scenario s;
        s.original = s.model = model;
        SiteTexts texts;
        for (const std::int64_t id : ids(letters, "source_vocabulary.txt"))
            texts.source.tokens.push_back(model->tokenizer().tokenOf(id));
        texts.target.tokens.push_back(model->tokenizer().tokenOf(1));
        for (const std::int64_t id : target.value_or(std::vector<std::int64_t>()))
            texts.target.tokens.push_back(model->tokenizer().tokenOf(id));
        texts.author = target ? SiteTexts::Author::User : SiteTexts::Author::ModelLater;
        s.texts = texts;
        s.query = texts.target;
        s.key = texts.source;
        return s;
    }
    std::string folder;
    SharedModel model;
    nlohmann::json expected;
};

TEST_F(ArabicNames, GiveThePublishedLogProbabilities) {
    double largest = 0;
    for (const auto& one : expected["score_api"]) {
        std::vector<std::int64_t> target = ids(one["target"], "target_vocabulary.txt");
        const SharedTrace t = trace(scenario(one["source"], target), referenceBackend());
        const Matrix all = logitsOf(*t);
        target.push_back(2); // the end
        ASSERT_EQ(all.rows(), static_cast<int>(target.size()));
        for (int i = 0; i < all.rows(); ++i) {
            double sum = 0;
            for (const float v : all.row(i))
                sum += std::exp(static_cast<double>(v));
            const auto at = static_cast<std::size_t>(i);
            const double ours = all(i, static_cast<int>(target[at])) - std::log(sum);
            largest = std::max(largest, std::abs(ours - one["log_probs"][at].get<double>()));
        }
    }
    EXPECT_LE(largest, 2e-6); // printed with 6 decimals
    std::cout << "    largest difference " << largest << '\n';
}

TEST_F(ArabicNames, AttendAsTheReferenceAtEverySite) {
    const std::map<std::string, int> names{{"atzmon", 0}, {"achison", 1}};
    for (const auto& [name, index] : names) {
        const auto& one = expected["score_api"][static_cast<std::size_t>(index)];
        const SharedTrace t =
            trace(scenario(one["source"], ids(one["target"], "target_vocabulary.txt")), referenceBackend());
        const Arrays reference(folder + "/ref_attention_" + name + ".npz");
        for (const auto& [site, array] : {std::pair{Site::EncoderSelf, "enc_self"},
                                          {Site::DecoderSelf, "dec_self"},
                                          {Site::DecoderCross, "cross"}}) {
            std::vector<float> weights;
            for (int l = 0; l < 6; ++l) {
                const std::vector<float> layer = perHead(*atSite(*t, site), l, Stage::Weights);
                weights.insert(weights.end(), layer.begin(), layer.end());
            }
            EXPECT_LE(farthest(weights, reference.at(array)), 2e-6) << name << " " << array;
        }
    }
}

TEST_F(ArabicNames, AreWrittenGreedilyAsPublished) {
    for (const auto& one : expected["greedy"]) {
        const Scenario s = withTarget(scenario(one["source"], std::nullopt), referenceBackend());
        std::vector<std::int64_t> written;
        for (const Token& token : s.texts->target.tokens)
            written.push_back(token.id);
        written.erase(written.begin()); // the start
        EXPECT_EQ(written, ids(one["target"], "target_vocabulary.txt"));
    }
}

} // namespace

} // namespace headscope
