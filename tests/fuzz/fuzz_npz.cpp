// Any bytes as a .npz file: refused with a LoadError or read, never anything else.
#include "core/model/npz.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return headscope::fuzzing::tryFile(data, size, headscope::parseNpz);
}
