// Any bytes as a .safetensors file: refused with a LoadError or read, never anything else.
#include "core/model/safetensors.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return headscope::fuzzing::tryFile(data, size, headscope::parseSafetensors);
}
