// Any text as a .headscope file: refused with an InputError or read, and then written and read again to the same text.
#include "core/exchange/scenario_file.h"
#include "core/tensor/errors.h"

#include <cstdlib>
#include <string_view>

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.find("\"path\"") != std::string_view::npos) // would open files of this machine
        return -1;
    try {
        const std::string written = writeScenario(readScenario(text, "fuzz", ""));
        if (writeScenario(readScenario(written, "fuzz", "")) != written)
            std::abort();
    } catch (const InputError&) {
    }
    return 0;
}
