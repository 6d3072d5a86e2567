// Typed indices: a layer, a head and a token cannot be exchanged by mistake. All start at 0.
#pragma once

// First and apart, for libstdc++'s macros: without them moc cannot read <compare>.
#include <cstddef>

#include <compare>

namespace headscope {

template<class Tag>
struct Index {
    int value = 0;
    constexpr Index() = default;
    constexpr explicit Index(int v) : value(v) {}
    constexpr auto operator<=>(const Index&) const = default;
};

using LayerIndex = Index<struct LayerTag>;
using HeadIndex = Index<struct HeadTag>; // a query head
using TokenIndex = Index<struct TokenTag>;

} // namespace headscope
