// MappedFile: the bytes of a file, mapped read-only and not copied. FileBytes: bytes with a name and an owner, what
// every reader parses; from a mapped file, or from memory in tests and fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headscope {

struct FileBytes {
    std::string path; // what errors call the file
    std::span<const std::uint8_t> bytes;
    std::shared_ptr<const void> owner; // keeps the bytes alive; null when somebody else does

    std::uint64_t size() const { return bytes.size(); }
    std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Throws LoadError: not found, a folder, not a regular file, not readable. An empty file gives no bytes.
FileBytes mapFile(const std::string& path);

// Names and other texts from files go into one-line messages: control characters as \xNN, at most 120 bytes.
std::string printable(std::string_view text);

// Throws LoadError, with both figures, when that much memory is not free. Asked before a large allocation.
void requireFreeMemory(std::uint64_t bytes, const std::string& path, const std::string& entry);

} // namespace headscope
