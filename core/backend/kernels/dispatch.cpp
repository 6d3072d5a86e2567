#include "core/backend/kernels/kernels.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace headscope {

namespace level_plain {
extern const Kernels table;
}
#if defined(__x86_64__)
namespace level_v2 {
extern const Kernels table;
}
namespace level_v3 {
extern const Kernels table;
}
namespace level_v4 {
extern const Kernels table;
}
#endif

namespace {

// Worst first.
std::vector<const Kernels*> usable() {
    std::vector<const Kernels*> all{&level_plain::table};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3"))
        return all;
    all.push_back(&level_v2::table);
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return all;
    all.push_back(&level_v3::table);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        all.push_back(&level_v4::table);
#endif
    return all;
}

const Kernels& named(std::string_view name) {
    std::string names;
    for (const Kernels* k : usable()) {
        if (name == k->isa)
            return *k;
        names += (names.empty() ? "" : ", ") + std::string(k->isa);
    }
    throw InputError("HEADSCOPE_ISA is '" + std::string(name) + "', but this machine runs " + names);
}

std::atomic<const Kernels*>& chosen() {
    static std::atomic<const Kernels*> kernels = [] {
        const char* forced = std::getenv("HEADSCOPE_ISA"); // NOLINT(concurrency-mt-unsafe): nobody sets it
        return forced && *forced ? &named(forced) : usable().back();
    }();
    return kernels;
}

} // namespace

const Kernels& kernels() {
    return *chosen().load(std::memory_order_relaxed);
}

std::vector<std::string_view> isas() {
    std::vector<std::string_view> names;
    for (const Kernels* k : usable())
        names.emplace_back(k->isa);
    return names;
}

void chooseIsa(std::string_view name) {
    chosen().store(&named(name), std::memory_order_relaxed);
}

} // namespace headscope
