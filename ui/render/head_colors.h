// The colour of a head wherever heads stand side by side: links, bands, pieces. Colours that people with any colour
// vision tell apart (Okabe and Ito 2008, then of Tol), in an order that starts calm; they repeat after twelve.
#pragma once

#include <QColor>

#include <iterator>

namespace headscope {

inline QColor headColor(int index) {
    static constexpr QRgb colors[] = {0xff0072b2, 0xffd55e00, 0xff009e73, 0xffcc79a7, 0xffe69f00, 0xff56b4e9,
                                      0xff8c8c8c, 0xff9b6a3c, 0xff332288, 0xff999933, 0xff882255, 0xff44aa99};
    return QColor::fromRgb(colors[static_cast<std::size_t>(index) % std::size(colors)]);
}

} // namespace headscope
