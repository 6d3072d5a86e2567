// CheckpointBuilder: reads one attention stack out of a tensor file, by the names of its family and the sizes of its
// config, and checks every shape. An encoder-decoder has three stacks, one per site.
// Not here: reading config.json (checkpoint.h), what the families are called (families.h). Called by buildModel.
#pragma once

#include "core/model/checkpoint.h"
#include "core/model/families.h"
#include "core/model/table_embedding.h"

namespace headscope {

// Each function throws LoadError naming the tensor or the config's entry, expected and found.
class CheckpointBuilder {
public:
    // All three must outlive the builder.
    CheckpointBuilder(const CheckpointConfig& config, const FamilyNames& names, const TensorFile& tensors);

    ModelConfig config(const std::string& name) const;
    LayerWeights attention(const ModelConfig& c, int layer) const;
    // Norms and MLPs of all layers; sets c.dFeedForward.
    Transformer transformer(ModelConfig& c) const;
    // token: the token table where another stack has read it.
    TableEmbedding embedding(const ModelConfig& c, SharedMatrix token = nullptr) const;
    std::string tokenTable() const { return m_prefix + std::string(m_token) + ".weight"; }
    // Decoders have one always (tied to the token table where there is none of its own); encoders only with a masked-LM
    // head.
    std::optional<OutputLayer> output(const ModelConfig& c, const SharedMatrix& tokens) const;

private:
    [[noreturn]] void fail(const std::string& entry, const std::string& expected, const std::string& found) const;
    double number(const char* meaning, double otherwise) const;
    int count(const char* meaning, int least, int most) const; // a whole number of the config
    Activation activation() const;
    void setPositions(ModelConfig& c) const;
    RopeScaling ropeScaling(const ModelConfig& c) const;
    int positionOffset() const; // rows of the position table before position 0
    int feedForwardWidth(const ModelConfig& c) const;

    std::string name(std::string_view pattern, int layer = 0) const;
    const TensorEntry& entry(const std::string& n) const;
    void requireShape(const TensorEntry& e, const std::vector<std::int64_t>& expected) const;
    // A weight as applied, (in, out), whichever way it is stored.
    SharedMatrix matrix(const std::string& n, int in, int out) const;
    SharedMatrix row(const TensorEntry& e, int width, bool orMatrix = false) const; // (width), or (1, width) too
    SharedMatrix bias(const std::string& n, int width) const;                       // null where there is none
    LinearWeights linear(const std::string& n, int in, int out) const { return {matrix(n, in, out), bias(n, out)}; }
    NormWeights norm(const std::string& n, int width) const;
    // Rows of numbers as they are; width < 0 takes what the file has.
    SharedMatrix table(const std::string& n, int width) const;
    // Columns of q (0), k (1) or v (2) out of a packed projection.
    Matrix unpacked(const Matrix& all, const ModelConfig& c, int which) const;

    const CheckpointConfig& m_from;
    const FamilyNames& m_names;
    const TensorFile& m_tensors;
    std::string m_prefix;
    std::string_view m_token; // the name of the token table that is there
};

} // namespace headscope
