// Files are written beside their name and then renamed, so a failed or interrupted write leaves the old file whole.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace headscope {

// Calls write with a binary stream to PATH's folder, syncs, and renames over PATH. Throws InputError (folder missing,
// not writable, disk full: one sentence naming the path), and whatever `write` throws; nothing is left behind then.
void writeFileAtomically(const std::string& path, const std::function<void(std::ostream&)>& write);

} // namespace headscope
