// Any bytes as a .gguf file: its tensors are read, and what is known of a model in it is asked for.
#include "core/model/checkpoint.h"
#include "tests/fuzz/fuzz_reader.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzzing::tryFile(data, size, [](FileBytes bytes) {
        auto file = parseGguf(std::move(bytes));
        for (const std::string& key : file->keys()) { // each is one of these
            try {
                file->number(key);
            } catch (const LoadError&) {
            }
            try {
                file->text(key);
            } catch (const LoadError&) {
            }
            try {
                file->numbers(key);
            } catch (const LoadError&) {
            }
            try {
                file->texts(key);
            } catch (const LoadError&) {
            }
        }
        try {
            buildModel(configOfGguf(*file), *file, tokenizerOfGguf(*file), "fuzzed");
        } catch (const LoadError&) {
        }
        return file;
    });
}
