// Any bytes as a .safetensors file: refused with a LoadError or read, never anything else.
#include "core/model/safetensors.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto file = parseSafetensors({"fuzz", {data, size}, nullptr});
        for (const TensorEntry& entry : file->entries()) {
            file->countNonFinite(entry);
            try {
                file->read(entry);
            } catch (const LoadError&) { // no numbers
            }
            try {
                file->readStrings(entry);
            } catch (const LoadError&) { // no strings
            }
        }
    } catch (const LoadError&) {
    }
    return 0;
}
