// What a backend has to tell the user though the numbers are right: a device failed and the CPU went on, say. One
// sentence each; whoever runs a command takes them and prints them.
#pragma once

#include <string>
#include <vector>

namespace headscope {

void addNote(std::string sentence);   // from any thread
std::vector<std::string> takeNotes(); // those since the last call, in their order

} // namespace headscope
