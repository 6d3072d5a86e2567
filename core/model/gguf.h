// GGUF (versions 2 and 3): metadata and tensors in one file, as llama.cpp keeps them.
#pragma once

#include "core/model/mapped_file.h"
#include "core/model/tensor_file.h"

#include <optional>

namespace headscope {

class GgufFile : public TensorFile {
public:
    virtual std::vector<std::string> keys() const = 0; // of the metadata, in file order
    // A number or bool under this key; empty when there is none. Throws LoadError when it is something else.
    virtual std::optional<double> number(std::string_view key) const = 0;
    virtual std::optional<std::string> text(std::string_view key) const = 0;
    // Arrays of numbers or strings; empty when there is none. Throws LoadError when it is something else.
    virtual std::vector<double> numbers(std::string_view key) const = 0;
    virtual std::vector<std::string> texts(std::string_view key) const = 0;
};

bool startsLikeGguf(std::span<const std::uint8_t> bytes);
// Throws LoadError on anything that the format forbids. Arrays are checked now and read when asked for.
std::shared_ptr<const GgufFile> parseGguf(FileBytes file);

} // namespace headscope
