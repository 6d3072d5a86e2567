// The colour of a head, by its number, wherever heads are told apart: links, bands, pieces. Colours that people with
// any colour vision tell apart (Okabe and Ito 2008, then of Tol), in an order that starts calm; a set for each ground,
// about equally strong on it. The second dozen is darker; they repeat after 24. A key/value head that several query
// heads share has none of their colours but a grey.
#pragma once

#include <QColor>

#include <array>

namespace headscope {

inline QColor headColor(int head, bool dark = false) {
    static constexpr std::array<QRgb, 12> onLight{0xff0072b2, 0xffd55e00, 0xff009e73, 0xffcc79a7,
                                                  0xffe69f00, 0xff56b4e9, 0xff8a5a2c, 0xff882255,
                                                  0xff6a3d9a, 0xffa0b030, 0xffee8866, 0xff3a9c94};
    static constexpr std::array<QRgb, 12> onDark{0xff4f9fe0, 0xffe8743a, 0xff33c495, 0xffe39ac4,
                                                 0xfff2b53c, 0xff8fd0f5, 0xffc99a6b, 0xffd4608f,
                                                 0xffa98af0, 0xffb8cc4a, 0xfff5b09a, 0xff6fd0c0};
    const auto place = static_cast<std::size_t>(head);
    const QColor color = QColor::fromRgb((dark ? onDark : onLight)[place % onLight.size()]);
    return place / onLight.size() % 2 == 0 ? color : color.darker(150);
}

inline QColor sharedHeadColor(int kvHead, bool dark = false) {
    static constexpr std::array<int, 4> onLight{0x38, 0x98, 0x68, 0xc0}, onDark{0xd8, 0x88, 0xb0, 0x60};
    const int grey = (dark ? onDark : onLight)[static_cast<std::size_t>(kvHead) % onLight.size()];
    return {grey, grey, grey + 8};
}

// Whose a band is.
struct BandHead {
    int number = 0;
    bool isShared = false; // a key/value head of several query heads
    QColor color(bool dark) const { return isShared ? sharedHeadColor(number, dark) : headColor(number, dark); }
    bool operator==(const BandHead&) const = default;
};

} // namespace headscope
