// WatchedTensors: the tensors of a checkpoint while a model is made of them: tells how far the reading is, stops it on
// request, and knows afterwards what nobody read. Called by opening a checkpoint.
#pragma once

#include "core/model/tensor_file.h"

#include <functional>
#include <set>
#include <stop_token>

namespace headscope {

// What somebody who waits for a model wants of its opening.
struct OpenHooks {
    std::function<void(double fraction)> progress; // called on the thread that opens
    std::stop_token stop;                          // opening ends with Cancelled
};
// The same for one part of the work, which begins at `begin` and is `share` of the whole. Refers to `hooks`.
OpenHooks partOf(const OpenHooks& hooks, double begin, double share);

class WatchedTensors final : public TensorFile {
public:
    WatchedTensors(const TensorFile& file, const OpenHooks& hooks);
    std::string format() const override { return m_file.format(); }
    const std::string& path() const override { return m_file.path(); }
    const std::vector<TensorEntry>& entries() const override { return m_file.entries(); }
    Floats read(const TensorEntry& entry) const override;
    std::int64_t countNonFinite(const TensorEntry& entry) const override { return m_file.countNonFinite(entry); }
    std::vector<std::string> readStrings(const TensorEntry& entry) const override { return m_file.readStrings(entry); }

    std::vector<std::string> unread() const; // in the order of the file

private:
    const TensorFile& m_file;
    const OpenHooks& m_hooks;
    double m_all = 0;
    mutable double m_done = 0; // numbers
    mutable std::set<std::string> m_read;
};

} // namespace headscope
