#include "core/backend/backend.h"
#include "core/backend/cpu_backend.h"
#include "core/tensor/errors.h"

namespace headscope {

std::vector<BackendInfo> listBackends() {
    BackendInfo cpu{"cpu", "CPU, fused kernels", true, {}};
    try {
        cpu.description = cpuBackend().description();
    } catch (const InputError& e) {
        cpu.available = false;
        cpu.why = e.what();
    }
    return {cpu,
            {"reference", referenceBackend().description(), true, {}},
            {"opencl", "OpenCL devices", false, "this build has no OpenCL backend"}};
}

const Backend& backendByName(std::string_view name) {
    if (name == "auto" || name == "cpu")
        return cpuBackend();
    if (name == "reference")
        return referenceBackend();
    if (name == "opencl" || name.starts_with("opencl:"))
        throw InputError("backend '" + std::string(name) + "' cannot be used: " + listBackends().back().why +
                         "; use --backend cpu or auto");
    throw InputError("backend '" + std::string(name) + "' is unknown: expected auto, cpu, reference or opencl[:N]");
}

} // namespace headscope
