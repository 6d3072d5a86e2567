// The published colour tables (sources and licences in color_tables.cpp). Only ColorScale reads them.
#pragma once

#include <array>
#include <cstdint>

namespace headscope {

using ColorTable = std::array<std::uint32_t, 256>; // 0xRRGGBB, lowest first

extern const ColorTable viridisTable, cividisTable, magmaTable, infernoTable, grayTable;
extern const ColorTable puorTable; // diverging: orange, near white, purple

} // namespace headscope
