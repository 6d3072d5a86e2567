#include "core/backend/backend.h"
#include "core/backend/cpu_backend.h"
#include "core/tensor/errors.h"
#ifdef HEADSCOPE_WITH_OPENCL
#include "core/backend/opencl/opencl_backend.h"
#endif

namespace headscope {

namespace {

#ifndef HEADSCOPE_WITH_OPENCL
std::vector<BackendInfo> listOpenClBackends() {
    return {{"opencl", "OpenCL devices", false, "this build has no OpenCL backend (package opencl-c-headers)"}};
}

const Backend& openClBackendByName(std::string_view name) {
    throw InputError("backend '" + std::string(name) + "' cannot be used: " + listOpenClBackends().front().why +
                     "; use --backend cpu or auto");
}
#endif

} // namespace

std::vector<BackendInfo> listBackends() {
    BackendInfo cpu{"cpu", "CPU, fused kernels", true, {}};
    try {
        cpu.description = cpuBackend().description();
    } catch (const InputError& e) {
        cpu.available = false;
        cpu.why = e.what();
    }
    std::vector<BackendInfo> list{cpu, {"reference", referenceBackend().description(), true, {}}};
    for (BackendInfo& device : listOpenClBackends())
        list.push_back(std::move(device));
    return list;
}

const Backend& backendByName(std::string_view name) {
    if (name == "auto" || name == "cpu")
        return cpuBackend();
    if (name == "reference")
        return referenceBackend();
    if (name == "opencl" || name.starts_with("opencl:"))
        return openClBackendByName(name);
    throw InputError("backend '" + std::string(name) + "' is unknown: expected auto, cpu, reference or opencl[:N]");
}

} // namespace headscope
