#include "core/model/foreign_files.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace headscope {

namespace {

std::string fileName(const std::string& path) {
    return printable(path.substr(path.rfind('/') + 1));
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return c < 128 ? static_cast<char>(std::tolower(c)) : c; });
    return out;
}

// The word after `key ` in a Git LFS pointer ("size 133466304").
std::string pointerField(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos)
        return "unknown";
    const std::string_view rest = text.substr(at + key.size());
    return printable(rest.substr(0, rest.find_first_of("\r\n")));
}

// A protobuf that begins as ONNX's ModelProto does: field 1 (ir_version, a small number), then field 2 (producer) or 7
// (graph).
bool looksLikeOnnx(std::string_view bytes) {
    return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 32 &&
           (bytes[2] == 0x12 || bytes[2] == 0x3A);
}

} // namespace

LoadError torchError(const std::string& path) {
    return {path, "", "safetensors, npz or npy", "a pickle of PyTorch, which would run what is inside",
            "convert it in Python: `import torch, safetensors.torch`, then "
            "`safetensors.torch.save_file({k: v.clone() for k, v in torch.load(\"" +
                fileName(path) + "\", weights_only=True).items()}, \"model.safetensors\")`"};
}

void refuseForeignFile(const FileBytes& file) {
    const std::string& path = file.path;
    const std::string_view bytes = file.text();
    if (bytes.empty())
        throw LoadError(path, "", "safetensors, npz or npy", "an empty file");
    if (bytes.starts_with("version https://git-lfs.github.com/spec/"))
        throw LoadError(path, "", "the file itself",
                        "a Git LFS pointer to its " + pointerField(bytes.substr(0, 1024), "\nsize ") + " bytes",
                        "fetch it with `git lfs pull`");
    const std::string start = lower(bytes.substr(0, 256));
    const std::size_t visible = start.find_first_not_of("\xEF\xBB\xBF \t\r\n");
    if (visible != std::string::npos)
        for (const std::string_view tag : {"<!doctype", "<html", "<?xml", "<head", "<body", "<!--"})
            if (std::string_view(start).substr(visible).starts_with(tag))
                throw LoadError(path, "", "safetensors, npz or npy", "a web page", "download the file itself");
    if (bytes.starts_with("\x89HDF\r\n"))
        throw LoadError(path, "", "safetensors, npz or npy", "an HDF5 file", "save its arrays with numpy.savez");
    // A pickle begins with 80 and its protocol; that torch.save wrote it is likely, and the advice is the same.
    if (bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && !path.ends_with(".safetensors"))
        throw torchError(path);
    if (path.ends_with(".onnx") || (looksLikeOnnx(bytes) && !path.ends_with(".safetensors")))
        throw LoadError(path, "", "safetensors, npz or npy", "an ONNX model",
                        "convert it in Python: `import onnx, onnx.numpy_helper, safetensors.numpy`, then "
                        "`safetensors.numpy.save_file({t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(\"" +
                            fileName(path) + "\").graph.initializer}, \"model.safetensors\")`");
}

} // namespace headscope
