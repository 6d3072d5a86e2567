// The tensor-name table: what each family of trained models calls its tensors. Data, not code: the loader
// (checkpoint.cpp), `info` and the tests all read it. {L} stands for the layer; names are without ".weight" and
// ".bias".
#pragma once

#include "core/model/model.h"

#include <span>
#include <string_view>
#include <vector>

namespace headscope {

// How a family packs its projections.
enum class QkvPacking {
    Separate,   // q, k, v
    SideBySide, // one tensor, (d, 3d): GPT-2's Conv1D, kept as applied (in, out)
    PerHead     // one tensor, rows of head 0's q, k, v, then head 1's ...: GPT-NeoX
};

struct FamilyNames {
    std::string_view family;                // config.json's model_type, or GGUF's architecture
    bool gguf;                              // names inside a GGUF file
    std::vector<std::string_view> prefixes; // of all names; the first one under which the token table exists
    std::string_view token, position, segment, embeddingNorm, embeddingProjection;
    std::vector<std::string_view> tokenElsewhere; // other names of the token table
    Position otherPosition;                       // what there is without a position table
    std::string_view relativeBias;                // (buckets, h)
    QkvPacking packing;
    std::string_view q, k, v, o; // q is the packed one
    std::string_view norm1, norm2;
    std::string_view up, gate, down;
    std::string_view finalNorm;
    std::vector<std::string_view> output; // the output layer's rows (no prefix); else the token table where it is tied
    std::string_view outputDense, outputNorm, outputBias; // a masked-LM head's (no prefix)
    bool outputIsGelu;                                    // whatever the MLPs have
    bool storedAsApplied;                                 // (in, out), GPT-2; all others keep (out, in)
    bool scaledByDk = true;
    bool scaledWhenTied = false; // hidden states times 1/sqrt(d_model) before a tied output layer
    bool ropeInterleaved;        // q and k rows in interleaved pairs: put into half-split order when read
    BlockForm block;
    Norm norm;
    bool causal;
    bool paddingHasNoPosition; // padding tokens keep the row before position 0 and do not count (RoBERTa)
    int positionOffset;        // rows of the position table before position 0 (RoBERTa: padding_idx + 1)
};

// The three stacks of an encoder-decoder.
struct EncoderDecoderNames {
    FamilyNames encoder, decoder, cross; // cross has the decoder's MLPs
};
// gated: with two matrices in front of the activation (later T5). Empty: no such family.
std::optional<EncoderDecoderNames> encoderDecoderNames(std::string_view modelType, bool gated);

std::span<const FamilyNames> familyTable();
const FamilyNames* familyOf(std::string_view modelType, bool gguf); // null: not known
std::string familyList();                                           // with the encoder-decoders, for messages

} // namespace headscope
