#include "core/model/mapped_file.h"

#include "core/tensor/errors.h"
#include "core/tensor/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headscope {

namespace {

class Mapping {
public:
    Mapping(void* address, std::size_t size) : m_address(address), m_size(size) {}
    ~Mapping() { munmap(m_address, m_size); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

private:
    void* m_address;
    std::size_t m_size;
};

} // namespace

FileBytes mapFile(const std::string& path) {
    const auto fail = [&](const std::string& why) { return LoadError(path, "", "", "", why); };
    struct stat status {};
    // Asked before opening: to open a pipe would wait for somebody to write into it.
    if (stat(path.c_str(), &status) != 0)
        throw fail(errno == ENOENT ? "there is no such file" : std::string("cannot be read: ") + std::strerror(errno));
    if (S_ISDIR(status.st_mode))
        throw LoadError(path, "", "a file", "a folder");
    if (!S_ISREG(status.st_mode))
        throw LoadError(path, "", "a file", "a pipe or device");
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        throw fail(std::string("cannot be read: ") + std::strerror(errno));
    const bool known = fstat(descriptor, &status) == 0; // again: this is the file that is open
    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = known && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
    const int error = errno;
    close(descriptor);
    if (!known || address == MAP_FAILED)
        throw fail(std::string("cannot be read: ") + std::strerror(error));
    if (address == nullptr)
        return {path, {}, nullptr};
    return {path, {static_cast<const std::uint8_t*>(address), size}, std::make_shared<Mapping>(address, size)};
}

std::string printable(std::string_view text) {
    constexpr std::size_t limit = 120;
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        if (out.size() >= limit && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) // not inside a character
            return out + "...";
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F)
            out += std::string("\\x") + digits[byte >> 4] + digits[byte & 15U];
        else
            out += c;
    }
    return out;
}

void requireFreeMemory(std::uint64_t bytes, const std::string& path, const std::string& entry) {
    constexpr std::uint64_t small = std::uint64_t{16} << 20;
    if (bytes <= small)
        return;
    const std::int64_t available = availableMemory();
    if (bytes > static_cast<std::uint64_t>(available))
        throw LoadError(
            path, entry, "", "",
            "needs " + memoryText(static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 59))) +
                ", but " + memoryText(available) + " of memory are free");
}

} // namespace headscope
