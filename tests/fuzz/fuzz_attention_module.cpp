// A container that parses, taken for an attention module: names, shapes and head counts that nobody promised.
#include "core/model/attention_module.h"
#include "core/model/safetensors.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace headscope;
    try {
        const auto file = parseSafetensors(fuzzing::asFile(data, size));
        openAttentionModule({}, *file);
    } catch (const InputError&) { // LoadError too; InputError says that --heads is missing
    }
    return 0;
}
