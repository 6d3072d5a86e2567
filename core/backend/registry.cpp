#include "core/backend/backend.h"
#include "core/tensor/errors.h"

namespace headscope {

std::vector<BackendInfo> listBackends() {
    return {{"cpu", referenceBackend().description(), true, {}},
            {"reference", referenceBackend().description(), true, {}},
            {"opencl", "OpenCL devices", false, "this build has no OpenCL backend"}};
}

const Backend& backendByName(std::string_view name) {
    if (name == "auto" || name == "cpu" || name == "reference")
        return referenceBackend();
    if (name == "opencl" || name.starts_with("opencl:"))
        throw InputError("backend '" + std::string(name) + "' cannot be used: " + listBackends().back().why +
                         "; use --backend cpu or auto");
    throw InputError("backend '" + std::string(name) + "' is unknown: expected auto, cpu, reference or opencl[:N]");
}

} // namespace headscope
