// Any bytes as a .npy file: refused with a LoadError or read, never anything else.
#include "core/model/npy.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return headscope::fuzzing::tryFile(data, size, headscope::parseNpy);
}
