#include "core/backend/notes.h"

#include <mutex>
#include <utility>

namespace headscope {

namespace {
struct Notes {
    std::mutex mutex;
    std::vector<std::string> sentences;
};
Notes& notes() {
    static Notes n;
    return n;
}
} // namespace

void addNote(std::string sentence) {
    const std::lock_guard lock(notes().mutex);
    notes().sentences.push_back(std::move(sentence));
}

std::vector<std::string> takeNotes() {
    const std::lock_guard lock(notes().mutex);
    return std::exchange(notes().sentences, {});
}

} // namespace headscope
