#include "core/exchange/atomic_file.h"

#include "core/model/mapped_file.h"
#include "core/tensor/errors.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace headscope {

namespace {

// A stream buffer over a file descriptor: unlike std::ofstream it can be synced, and it keeps the reason of a failure.
class DescriptorBuffer final : public std::streambuf {
public:
    explicit DescriptorBuffer(int descriptor) : m_descriptor(descriptor), m_buffer(std::size_t{1} << 16) {
        setp(m_buffer.data(), m_buffer.data() + m_buffer.size());
    }
    int error() const { return m_error; }

protected:
    int overflow(int c) override {
        if (sync() != 0)
            return traits_type::eof();
        if (c != traits_type::eof())
            sputc(static_cast<char>(c));
        return traits_type::not_eof(c);
    }
    int sync() override {
        const char* at = pbase();
        while (at < pptr() && m_error == 0) {
            const ssize_t written = ::write(m_descriptor, at, static_cast<std::size_t>(pptr() - at));
            if (written >= 0)
                at += written;
            else if (errno != EINTR)
                m_error = errno;
        }
        setp(m_buffer.data(), m_buffer.data() + m_buffer.size());
        return m_error == 0 ? 0 : -1;
    }

private:
    int m_descriptor;
    int m_error = 0;
    std::vector<char> m_buffer;
};

// The unfinished file; gone when this goes, unless it was renamed.
struct Unfinished {
    std::string path;
    int descriptor = -1;
    ~Unfinished() {
        if (descriptor >= 0)
            close(descriptor);
        if (!path.empty())
            unlink(path.c_str());
    }
};

InputError cannotWrite(const std::string& path, int error) {
    return InputError(printable(path) + ": cannot be written: " + std::strerror(error));
}

// A new file with a name that nothing else has, beside the target. Its permissions are what any new file gets.
void createBeside(const std::filesystem::path& folder, Unfinished& file) {
    for (int attempt = 0; attempt < 1000 && file.descriptor < 0; ++attempt) {
        const std::string name = ".headscope-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
        const std::string path = (folder / name).string();
        file.descriptor = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (file.descriptor >= 0)
            file.path = path;
        else if (errno != EEXIST)
            return;
    }
}

} // namespace

void writeFileAtomically(const std::string& path, const std::function<void(std::ostream&)>& write) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (path.empty())
        throw InputError("the output file has no name");
    if (fs::is_directory(path, ignored) || path.ends_with('/'))
        throw InputError(printable(path) + ": expected the name of a file, found a folder");
    // A link stays a link: what it points to is replaced.
    const fs::path target = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
    if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) { // /dev/stdout: nothing to rename over
        Unfinished device{"", open(target.c_str(), O_WRONLY | O_CLOEXEC)};
        if (device.descriptor < 0)
            throw cannotWrite(path, errno);
        DescriptorBuffer buffer(device.descriptor);
        std::ostream out(&buffer);
        write(out);
        out.flush();
        if (buffer.error() != 0)
            throw cannotWrite(path, buffer.error());
        return;
    }
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, ignored))
        throw InputError(printable(path) + ": cannot be written: there is no folder " + printable(folder.string()));

    Unfinished file;
    createBeside(folder, file);
    if (file.descriptor < 0)
        throw cannotWrite(path, errno);
    struct stat old {};
    if (stat(target.c_str(), &old) == 0 &&
        fchmod(file.descriptor, old.st_mode & 07777U) != 0) // the old one's permissions
        throw cannotWrite(path, errno);

    DescriptorBuffer buffer(file.descriptor);
    std::ostream out(&buffer);
    write(out);
    out.flush();
    if (buffer.error() != 0 || !out)
        throw cannotWrite(path, buffer.error() != 0 ? buffer.error() : EIO);
    // Without the sync a crash of the machine could leave the new name with no contents.
    if (fsync(file.descriptor) != 0)
        throw cannotWrite(path, errno);
    const int closed = close(file.descriptor);
    file.descriptor = -1;
    if (closed != 0 || rename(file.path.c_str(), target.c_str()) != 0)
        throw cannotWrite(path, errno);
    file.path.clear();
}

} // namespace headscope
