// What every fuzz target of a container does with a file: parse it and touch everything in it. A file may be refused
// with a LoadError; any other exception, and whatever the sanitizers find, is a defect.
#pragma once

#include "core/model/mapped_file.h"
#include "core/model/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace headscope::fuzzing {

inline FileBytes asFile(const std::uint8_t* data, std::size_t size) {
    return {"fuzzed", {data, size}, nullptr};
}

// An entry is read up to what the longest input can hold deflated (64 KiB, a thousand times as much).
inline void readEverything(const TensorFile& file) {
    constexpr std::int64_t enough = 1 << 26;
    for (const TensorEntry& entry : file.entries()) {
        if (entry.count > enough)
            continue;
        try {
            file.countNonFinite(entry);
            file.read(entry);
        } catch (const LoadError&) {
        }
        try {
            file.readStrings(entry);
        } catch (const LoadError&) {
        }
    }
}

template<class Parse>
int tryFile(const std::uint8_t* data, std::size_t size, const Parse& parse) {
    try {
        const std::shared_ptr<const TensorFile> file = parse(asFile(data, size));
        readEverything(*file);
    } catch (const LoadError&) {
    }
    return 0;
}

} // namespace headscope::fuzzing
