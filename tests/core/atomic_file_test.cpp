#include "core/exchange/atomic_file.h"

#include "core/tensor/errors.h"
#include "tests/support/files.h"

#include <ostream>

namespace headscope {
namespace {

using testing::readFile;
using testing::refusal;
using testing::TemporaryFolder;

std::size_t filesIn(const TemporaryFolder& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

TEST(AtomicFile, ReplacesTheOldFileWholly) {
    const TemporaryFolder folder;
    const std::string path = testing::writeFile(folder / "f", "the old one, which is longer");
    writeFileAtomically(path, [](std::ostream& out) { out << "new"; });
    EXPECT_EQ(readFile(path), "new");
    EXPECT_EQ(filesIn(folder), 1U);
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNothingElse) {
    const TemporaryFolder folder;
    const std::string path = testing::writeFile(folder / "f", "old");
    EXPECT_THROW(writeFileAtomically(path,
                                     [](std::ostream& out) {
                                         out << std::string(1 << 20, 'x');
                                         throw InputError("no");
                                     }),
                 InputError);
    EXPECT_EQ(readFile(path), "old");
    EXPECT_EQ(filesIn(folder), 1U);
}

TEST(AtomicFile, AMissingFolderIsNamed) {
    const TemporaryFolder folder;
    const std::string path = folder / "none/f.npz";
    const std::string sentence = refusal<InputError>([&] { writeFileAtomically(path, [](std::ostream&) {}); });
    EXPECT_NE(sentence.find("there is no folder " + (folder / "none")), std::string::npos) << sentence;
    EXPECT_NE(refusal<InputError>([&] {
                  writeFileAtomically(folder.path().string(), [](std::ostream&) {});
              }).find("a folder"),
              std::string::npos);
}

TEST(AtomicFile, ADeviceIsWrittenTo) {
    EXPECT_NO_THROW(writeFileAtomically("/dev/null", [](std::ostream& out) { out << "x"; }));
    EXPECT_THROW(writeFileAtomically("/dev/full", [](std::ostream& out) { out << "x"; }), InputError);
}

TEST(AtomicFile, KeepsThePermissionsOfTheOldFileAndTheLinkToIt) {
    namespace fs = std::filesystem;
    const TemporaryFolder folder;
    const std::string path = testing::writeFile(folder / "f", "old"), link = folder / "link";
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink(path, link);
    writeFileAtomically(link, [](std::ostream& out) { out << "new"; });
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(readFile(path), "new");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

} // namespace
} // namespace headscope
