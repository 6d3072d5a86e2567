// The trained models inside the program: their files stand in the executable as they are, paged in when first read.
// Sources and licences: resources/models/README.md, and About in the window.
#pragma once

#include "core/model/model.h"

namespace headscope {

// Opened at the first call, then shared. Never fails: the files are part of the build and tested.
SharedModel embeddedMini();      // all-MiniLM-L6-v2, Apache-2.0, GGUF Q8_0
SharedModel embeddedStory();     // made for Headscope
SharedModel embeddedTranslate(); // made for Headscope, an encoder-decoder

} // namespace headscope
