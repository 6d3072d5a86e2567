// Who may know whom: app -> ui -> core, and inside core tensor <- text, model, backend <- attention <- analysis,
// exchange. The compiler cannot say it, so this test reads the #include lines.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path root = HEADSCOPE_SOURCE_DIR;

std::vector<fs::path> filesUnder(const std::string& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.is_regular_file()) {
            files.push_back(entry.path());
        }
    }
    return files;
}

std::string contents(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

// What stands between the brackets or quotes of each #include.
std::vector<std::string> includesOf(const fs::path& file) {
    std::vector<std::string> names;
    std::istringstream lines(contents(file));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t hash = line.find_first_not_of(" \t");
        if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) {
            continue;
        }
        const std::size_t open = line.find_first_of("<\"", hash);
        const std::size_t close = line.find_first_of(">\"", open + 1);
        names.push_back(line.substr(open + 1, close - open - 1));
    }
    return names;
}

std::string shown(const fs::path& file) {
    return fs::relative(file, root).generic_string();
}

} // namespace

TEST(Architecture, coreKnowsNoQtNoWindowAndNoProgram) {
    for (const fs::path& file : filesUnder("core")) {
        for (const std::string& name : includesOf(file)) {
            const bool qt = name.size() > 1 && name[0] == 'Q' && (std::isupper(name[1]) != 0 || name[1] == 't');
            EXPECT_FALSE(qt || name.starts_with("qcustomplot") || name.starts_with("ui/") || name.starts_with("app/"))
                << shown(file) << " includes " << name;
        }
    }
}

TEST(Architecture, theWindowKnowsNotTheProgram) {
    for (const fs::path& file : filesUnder("ui")) {
        for (const std::string& name : includesOf(file)) {
            EXPECT_FALSE(name.starts_with("app/")) << shown(file) << " includes " << name;
        }
    }
}

TEST(Architecture, insideCoreEachFolderKnowsOnlyThoseBelowIt) {
    const std::map<std::string, std::set<std::string>> mayInclude{
        {"tensor", {}},
        {"text", {"tensor"}},
        {"model", {"tensor", "text"}},
        {"backend", {"tensor"}},
        {"attention", {"tensor", "text", "model", "backend"}},
        {"analysis", {"tensor", "text", "model", "backend", "attention"}},
        {"exchange", {"tensor", "text", "model", "backend", "attention", "analysis"}},
    };
    for (const fs::path& file : filesUnder("core")) {
        const fs::path folder = fs::relative(file, root / "core").parent_path();
        if (folder.empty()) {
            continue; // CMakeLists.txt
        }
        const std::string from = folder.begin()->string();
        ASSERT_TRUE(mayInclude.contains(from)) << "core/" << from << " has no place in the layering yet";
        for (const std::string& name : includesOf(file)) {
            if (!name.starts_with("core/")) {
                continue;
            }
            const std::string to = name.substr(5, name.find('/', 5) - 5);
            EXPECT_TRUE(to == from || mayInclude.at(from).contains(to)) << shown(file) << " includes " << name;
        }
    }
}

TEST(Architecture, noFileSpeaksOfOneMachinesFolders) {
    std::vector<fs::path> files;
    for (const std::string folder : {".ci", "app", "core", "ui", "tests", "resources"}) {
        const auto more = filesUnder(folder);
        files.insert(files.end(), more.begin(), more.end());
    }
    for (const auto& entry : fs::directory_iterator(root)) {
        if (entry.is_regular_file() && entry.path().filename() != ".git") {
            files.push_back(entry.path());
        }
    }
    for (const fs::path& file : files) {
        const std::string text = contents(file);
        for (const std::string folder : {"work", "tmp", "home", "root"}) {
            for (const char before : {'"', '\'', ' ', '=', '(', '`', '\n'}) {
                const std::string path = std::string(1, before) + '/' + folder + '/';
                EXPECT_EQ(text.find(path), std::string::npos) << shown(file) << " names " << path;
            }
        }
    }
}
