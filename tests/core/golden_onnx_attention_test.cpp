// The 40 operator tests of ONNX Attention (opsets 23, 24) through the backend's one head at a time: Q, K and V are
// given.
//   Q (B, h, n, d_k) or (B, n, h*d_k); K, V likewise with h_kv heads; query head i uses KV head i / (h / h_kv)
//   attn_mask, broadcast from the right to (B, h, n, m): bool says who may attend, numbers are added before the softcap
//   past_key, past_value (B, h_kv, past, d) stand before K and V; is_causal: key j is open for query i when j <= i +
//   past qk_matmul_output_mode: 0 scaled scores, 1 with the mask, 2 after the softcap, 3 softmax
#include "core/attention/mask.h"
#include "core/backend/backend.h"
#include "core/model/tensor_file.h"
#include "tests/support/golden.h"
#include "tests/support/json_matrix.h"

namespace headscope::testing {
namespace {

using nlohmann::json;

constexpr double bound = 1e-6; // of the largest entry, at least 1

// An array of any rank, padded with ones on the left to rank 4.
struct Array4 {
    std::array<std::int64_t, 4> shape{1, 1, 1, 1};
    std::vector<float> data;
    bool isBool = false;

    // Index 0 is used along an axis of size 1: numpy's broadcasting.
    float at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
        const auto along = [&](std::size_t axis, std::int64_t i) { return shape[axis] == 1 ? 0 : i; };
        return data[static_cast<std::size_t>(
            ((along(0, a) * shape[1] + along(1, b)) * shape[2] + along(2, c)) * shape[3] + along(3, d))];
    }
};

class Case {
public:
    Case(const std::string& name, const json& attributes)
        : m_file(openTensorFile(sharedData("op-vectors/onnx-attention/" + name + ".npz").string())),
          m_attributes(attributes) {
        m_queryHeads = attributes.value("q_num_heads", 0);
        m_kvHeads = attributes.value("kv_num_heads", 0);
    }

    bool has(const std::string& name) const { return m_file->find(name) != nullptr; }
    const json& attributes() const { return m_attributes; }

    Array4 array(const std::string& name) const {
        const TensorEntry* entry = m_file->find(name);
        Array4 out;
        std::ranges::copy(entry->shape, out.shape.end() - static_cast<std::ptrdiff_t>(entry->shape.size()));
        const Floats values = m_file->read(*entry);
        out.data.assign(values.begin(), values.end());
        out.isBool = entry->type.find("b1") != std::string::npos;
        return out;
    }

    // (B, heads, tokens, width), whether the file has heads as an axis or side by side (B, tokens, heads*width).
    Array4 perHead(const std::string& name, int heads) const {
        Array4 in = array(name);
        if (m_file->find(name)->shape.size() == 4) {
            return in;
        }
        Array4 out; // in: (1, B, tokens, heads*width)
        out.shape = {in.shape[1], heads, in.shape[2], in.shape[3] / heads};
        out.data.reserve(in.data.size());
        for (std::int64_t b = 0; b < out.shape[0]; ++b) {
            for (std::int64_t h = 0; h < heads; ++h) {
                for (std::int64_t t = 0; t < out.shape[2]; ++t) {
                    for (std::int64_t d = 0; d < out.shape[3]; ++d) {
                        out.data.push_back(in.at(0, b, t, h * out.shape[3] + d));
                    }
                }
            }
        }
        return out;
    }
    Array4 queries(const std::string& name) const { return perHead(name, m_queryHeads); }
    Array4 keys(const std::string& name) const { return perHead(name, m_kvHeads); }

private:
    std::shared_ptr<const TensorFile> m_file;
    json m_attributes;
    int m_queryHeads, m_kvHeads;
};

Matrix matrixOf(const Array4& a, std::int64_t b, std::int64_t h) {
    Matrix out(static_cast<int>(a.shape[2]), static_cast<int>(a.shape[3]));
    for (int r = 0; r < out.rows(); ++r) {
        for (int c = 0; c < out.cols(); ++c) {
            out(r, c) = a.at(b, h, r, c);
        }
    }
    return out;
}

Matrix stacked(const Matrix& above, const Matrix& below) {
    Matrix out(above.rows() + below.rows(), below.cols());
    std::ranges::copy(below.values(), std::ranges::copy(above.values(), out.values().begin()).out);
    return out;
}

Expected expectedOf(const Matrix& m) {
    return {m.rows(), m.cols(), {m.values().begin(), m.values().end()}};
}

// Everything that closes cells or adds to them, for one head of one batch entry.
KeyMask maskOf(const Case& c, std::int64_t b, std::int64_t h, int n, int m, int past) {
    KeyMask mask = resolveMask(parseMask("none"), ModelMask{}, n, m);
    for (int i = 0; i < n; ++i) {
        int& end = mask.open[static_cast<std::size_t>(i)].end;
        if (c.attributes().value("is_causal", 0) == 1) {
            end = std::min(end, i + past + 1);
        }
        if (c.has("in_nonpad_kv_seqlen")) {
            end = std::min(end, static_cast<int>(c.array("in_nonpad_kv_seqlen").at(0, 0, 0, b)));
        }
    }
    if (c.has("in_attn_mask")) {
        const Array4 given = c.array("in_attn_mask");
        Matrix additive(n, m, KeyMask::minusInfinity); // a mask of fewer keys than K closes the rest
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < std::min(m, static_cast<int>(given.shape[3])); ++j) {
                const float v = given.at(b, h, i, j);
                additive(i, j) = !given.isBool ? v : v != 0.0F ? 0.0F : KeyMask::minusInfinity;
            }
        }
        mask.additive = share(std::move(additive));
    }
    return mask;
}

void expectClose(const std::string& what, const Matrix& actual, const Array4& expected, std::int64_t b, std::int64_t h,
                 double& largest) {
    const double difference = largestDifference(actual, expectedOf(matrixOf(expected, b, h)));
    EXPECT_LE(difference, bound) << what << ", batch " << b << ", head " << h;
    largest = std::max(largest, difference);
}

class OnnxAttention : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxAttention, EveryHeadOfEveryBatchAgrees) {
    HEADSCOPE_NEEDS_SHARED_DATA("op-vectors/onnx-attention");
    const json cases = readJson(sharedData("op-vectors/onnx-attention/cases.json"));
    const Case c(GetParam(), cases.at(GetParam()).at("attributes"));
    const Array4 q = c.queries("in_Q"), k = c.keys("in_K"), v = c.keys("in_V"), y = c.queries("out_Y");
    const std::int64_t group = q.shape[1] / k.shape[1];
    double largest = 0;
    for (std::int64_t b = 0; b < q.shape[0]; ++b) {
        for (std::int64_t h = 0; h < q.shape[1]; ++h) {
            const Matrix qh = matrixOf(q, b, h);
            Matrix kh = matrixOf(k, b, h / group), vh = matrixOf(v, b, h / group);
            int past = 0;
            if (c.has("in_past_key")) {
                const Matrix pastKey = matrixOf(c.array("in_past_key"), b, h / group);
                past = pastKey.rows();
                kh = stacked(pastKey, kh);
                vh = stacked(matrixOf(c.array("in_past_value"), b, h / group), vh);
                expectClose("present_key", kh, c.array("out_present_key"), b, h / group, largest);
                expectClose("present_value", vh, c.array("out_present_value"), b, h / group, largest);
            }
            const KeyMask mask = maskOf(c, b, h, qh.rows(), kh.rows(), past);
            HeadProblem p;
            p.q = qh;
            p.k = kh;
            p.v = vh;
            p.scale =
                static_cast<float>(c.attributes().value("scale", 1.0 / std::sqrt(static_cast<double>(qh.cols()))));
            p.mask = &mask;
            p.softcap = c.attributes().value("softcap", 0.0F);
            const HeadRows rows = backendByName("auto").attend(p, 0, qh.rows(), {true, true, true, true, true});
            expectClose("Y", rows.output, y, b, h, largest);
            if (c.has("out_qk_matmul_output")) {
                const int mode = c.attributes().value("qk_matmul_output_mode", 0);
                const Matrix& qk = mode == 0   ? rows.scaled
                                   : mode == 3 ? rows.weights
                                               : rows.masked; // no case has mode 1 and a softcap
                expectClose("qk_matmul_output", qk, c.array("out_qk_matmul_output"), b, h, largest);
            }
        }
    }
    std::cout << "    largest difference " << largest << '\n';
}

std::vector<std::string> caseNames() {
    std::vector<std::string> names;
    if (std::filesystem::exists(sharedData("op-vectors/onnx-attention/cases.json"))) {
        const json cases = readJson(sharedData("op-vectors/onnx-attention/cases.json")); // must outlive the loop
        for (const auto& [name, value] : cases.items()) {
            names.push_back(name);
        }
    }
    return names;
}

TEST(OnnxAttention, AllFortyCasesAreThere) {
    HEADSCOPE_NEEDS_SHARED_DATA("op-vectors/onnx-attention");
    EXPECT_EQ(caseNames().size(), 40U);
}

INSTANTIATE_TEST_SUITE_P(Cases, OnnxAttention, ::testing::ValuesIn(caseNames()),
                         [](const auto& test) { return test.param.substr(std::string("test_attention_").size()); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxAttention);

} // namespace
} // namespace headscope::testing
