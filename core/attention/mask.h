// Who may attend to whom: the parts a user writes ("causal+window:3", a file, painted cells), and what they mean for
// one pair of texts. A cell is open if every part allows it; added numbers sum.
#pragma once

#include "core/backend/backend.h"
#include "core/tensor/matrix.h"

#include <string>
#include <vector>

namespace headscope {

struct MaskPart {
    enum class Kind { None, Causal, Window, Prefix, Padding, Model, Matrix };
    Kind kind = Kind::Model;
    int size = 0;          // W, P or K
    SharedMatrix additive; // Matrix: (n, m), 0 is open, -inf is closed, other numbers are added to the scores
    bool operator==(const MaskPart&) const = default;
};

// The model's own mask: what a part of kind Model stands for.
struct ModelMask {
    bool causal = false;
    int slidingWindow = 0; // with causal: a query sees itself and the W - 1 tokens before it; 0 is no limit
};

struct Mask {
    std::vector<MaskPart> parts{MaskPart{}}; // the model's own
    bool operator==(const Mask&) const = default;
};

// "none", "causal", "window:W", "prefix:P", "padding:K", "model", joined by "+". Throws InputError. Files are read by
// the caller.
Mask parseMask(std::string_view text);
std::string maskName(const Mask& mask); // the inverse; a matrix reads "file"

// A matrix from a file becomes additive: booleans, integers, or only 0 and 1 say who may attend; other numbers are
// added. isFlags: the file's type is boolean or integer. Throws InputError on NaN or +inf.
Matrix additiveFromNumbers(const Matrix& numbers, bool isFlags);

// For n queries and m keys. Throws InputError when a part does not fit (a matrix of another size, padding larger than
// m).
KeyMask resolveMask(const Mask& mask, ModelMask model, int n, int m);

} // namespace headscope
