#include "core/model/tensor_file.h"

#include "core/exchange/dump.h"
#include "core/model/builtin.h"
#include "core/model/gguf.h"
#include "core/model/npz.h"
#include "core/model/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/json_matrix.h"

#include <zlib.h>

namespace headscope {
namespace {

using testing::refusal;
using testing::TemporaryFolder;
using testing::writeFile;

std::string safetensors(const std::string& header, const std::string& data) {
    std::string out;
    for (unsigned i = 0; i < 8; ++i) {
        out += static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i)));
    }
    return out + header + data;
}

FileBytes inMemory(const std::string& bytes) {
    return {"memory", {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, nullptr};
}

// Opens, and reads everything that can be read: a lie may only come out there.
void readWhole(const std::string& path) {
    const auto file = openTensorFile(path);
    for (const TensorEntry& entry : file->entries()) {
        EXPECT_GE(file->countNonFinite(entry), 0);
    }
}

TEST(TensorFile, EveryMalformedFileIsTreatedAsItsManifestSays) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/manifest.json");
    int seen = 0;
    const nlohmann::json manifest = testing::readJson(testing::sharedData("malformed/manifest.json"));
    for (const auto& [name, about] : manifest.items()) {
        if (!name.starts_with("safetensors/") && !name.starts_with("npy/") && !name.starts_with("gguf/")) {
            continue;
        }
        ++seen;
        const std::string expect = about.at("expect"), path = testing::sharedData("malformed/" + name).string();
        if (expect == "load") {
            EXPECT_NO_THROW(readWhole(path)) << name << ": " << about.at("what");
        } else if (expect == "reject") {
            EXPECT_THROW(readWhole(path), LoadError) << name << ": " << about.at("what");
        } else {
            try {
                readWhole(path);
            } catch (const LoadError&) {
            }
        }
    }
    EXPECT_GT(seen, 80);
}

// A container that is well-formed may still be no model, or be a model that lies: in one sentence, whatever it is.
TEST(TensorFile, NoMalformedGgufFileIsTakenForAModel) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/gguf");
    for (const auto& entry : std::filesystem::directory_iterator(testing::sharedData("malformed/gguf"))) {
        ModelSource source;
        source.name = entry.path().string();
        const std::string sentence = refusal<LoadError>([&] { openModel(source); });
        EXPECT_NE(sentence.find(source.name), std::string::npos) << sentence;
    }
}

TEST(TensorFile, AGgufFileCutAnywhereIsRefused) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/gguf");
    const std::string whole = testing::readFile(testing::sharedData("malformed/gguf/ok-two-tensors.gguf").string());
    EXPECT_EQ(parseGguf(inMemory(whole))->entries().size(), 2U);
    constexpr std::size_t padding = 16; // behind the second tensor's 16 bytes
    for (std::size_t length = 0; length < whole.size() - padding; ++length) {
        const std::string cut = whole.substr(0, length);
        EXPECT_THROW(parseGguf(inMemory(cut)), LoadError) << length;
    }
}

TEST(TensorFile, EveryLayoutThatNumpyWritesHoldsTheSameNumbers) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/npy");
    const Floats expected{0, 1, 2, 3, 4, 5};
    for (const char* name : {"ok-f4.npy", "ok-fortran.npy", "ok-big-endian.npy", "ok-f2.npy", "ok-u1.npy",
                             "ok-v3-plain.npy", "ok-long-header.npy", "ok-odd-header-order.npy", "ok-deflated.npz",
                             "ok-fortran-big-endian.npz", "ok-zip64-streamed.npz", "ok-no-suffix.npz"}) {
        const auto file = openTensorFile(testing::sharedData(std::string("malformed/npy/") + name).string());
        EXPECT_EQ(file->read(file->entries()[0]), expected) << name;
    }
}

TEST(TensorFile, UnicodeArraysReadBackAsTheTextsThatWereWritten) {
    const TemporaryFolder folder;
    const std::vector<std::string> texts{"cat", "", "caf\u00e9", "\u6f22", "\U0001F63A ok"};
    const auto file = openTensorFile(testing::writeArrays(folder / "t.npz", {{"tokens", {5}, texts}}));
    EXPECT_EQ(file->readStrings(*file->find("tokens")), texts);
    EXPECT_THROW(file->read(*file->find("tokens")), LoadError);
}

TEST(TensorFile, NonFiniteValuesAreCountedInEveryType) {
    //  F16: 1, inf, NaN; BF16: -inf, 1; F64: NaN
    const std::string data = std::string("\x00\x3C\x00\x7C\x01\x7C", 6) + std::string("\x80\xFF\x80\x3F", 4) +
                             std::string("\x00\x00\x00\x00\x00\x00\xF8\x7F", 8);
    const std::string bytes = safetensors(R"({"h":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},)"
                                          R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[6,10]},)"
                                          R"("d":{"dtype":"F64","shape":[1],"data_offsets":[10,18]}})",
                                          data);
    const auto file = parseSafetensors(inMemory(bytes));
    EXPECT_EQ(file->countNonFinite(*file->find("h")), 2);
    EXPECT_EQ(file->countNonFinite(*file->find("b")), 1);
    EXPECT_EQ(file->countNonFinite(*file->find("d")), 1);
    const std::string sentence = refusal<LoadError>([&] { file->matrix(*file->find("h"), true); });
    EXPECT_NE(sentence.find("h: expected finite numbers, found inf at [1]"), std::string::npos) << sentence;
}

TEST(TensorFile, AnUnfinishedHeaderNeverReadsPastTheEnd) {
    const std::string whole = safetensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
    EXPECT_NO_THROW(parseSafetensors(inMemory(whole)));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string cut = whole.substr(0, length); // of its own, so that a sanitizer sees its end
        EXPECT_THROW(parseSafetensors(inMemory(cut)), LoadError) << length;
    }
}

TEST(TensorFile, AnArchiveCutAnywhereIsRefused) {
    std::ostringstream out;
    writeNpz(out, {{"w", {2, 2}, std::vector<float>{1, 2, 3, 4}}});
    const std::string whole = out.str();
    EXPECT_NO_THROW(parseNpz(inMemory(whole)));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string cut = whole.substr(0, length);
        EXPECT_THROW(parseNpz(inMemory(cut)), LoadError) << length;
    }
}

TEST(TensorFile, ADamagedValueIsFoundByTheArchivesCheckSum) {
    std::ostringstream out;
    writeNpz(out, {{"w", {1}, std::vector<float>{1.0F}}});
    std::string bytes = out.str();
    const std::size_t value = bytes.find(std::string("\x00\x00\x80\x3F", 4));
    bytes[value] = '\1';
    const auto file = parseNpz(inMemory(bytes));
    EXPECT_THROW(file->countNonFinite(file->entries()[0]), LoadError);
    EXPECT_THROW(file->read(file->entries()[0]), LoadError);
}

TEST(TensorFile, ForeignFilesAreNamedForWhatTheyAre) {
    const TemporaryFolder folder;
    struct Case {
        const char *name, *bytes, *says;
    };
    const std::vector<Case> cases{{"a.safetensors",
                                   "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4711\n",
                                   "4711 bytes; fetch"},
                                  {"b.npz", "\n<!DOCTYPE html><html></html>", "a web page"},
                                  {"c.bin", "\x80\x02}q\x01.", "torch.load(\"c.bin\""},
                                  {"d.onnx", "\x08\x07\x12\x07pytorch", "onnx.load(\"d.onnx\")"},
                                  {"f.csv", "1,2,3\n4,5,6\n", "expected safetensors, GGUF, npz or npy"},
                                  {"g.npz", "PK\x03\x04", "cut off"}};
    for (const Case& c : cases) {
        const std::string path = writeFile(folder / c.name, c.bytes);
        const std::string sentence = refusal<LoadError>([&] { openTensorFile(path); });
        EXPECT_NE(sentence.find(c.says), std::string::npos) << sentence;
    }
    EXPECT_NE(refusal<LoadError>([&] { openTensorFile(folder.path().string()); }).find("a folder"), std::string::npos);
    EXPECT_NE(refusal<LoadError>([&] { openTensorFile(folder / "none"); }).find("no such file"), std::string::npos);
}

TEST(TensorFile, ATorchArchiveIsRefusedWithTheConversionToSafetensors) {
    std::ostringstream out;
    writeNpz(out, {{"archive/data.pkl", {1}, std::vector<float>{0}}});
    std::string bytes =
        out.str(); // the name inside is data.pkl.npy: make it data.pkl and the suffix part of the folder
    for (std::size_t at = 0; (at = bytes.find("archive/data.pkl.npy", at)) != std::string::npos;) {
        bytes.replace(at, 20, "archive1234/data.pkl");
    }
    const std::string sentence = refusal<LoadError>([&] { parseNpz(inMemory(bytes)); });
    EXPECT_NE(sentence.find("safetensors.torch.save_file"), std::string::npos) << sentence;
}

TEST(TensorFile, ControlCharactersOfANameStayOutOfTheMessage) {
    const std::string bytes = safetensors("{\"a\\nb\":null}", "");
    const std::string sentence = refusal<LoadError>([&] { parseSafetensors(inMemory(bytes)); });
    EXPECT_NE(sentence.find("a\\x0ab"), std::string::npos) << sentence;
}

} // namespace
} // namespace headscope
