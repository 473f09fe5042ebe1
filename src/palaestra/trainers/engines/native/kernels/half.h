// bfloat16 in memory, single precision in arithmetic, sixteen numbers side by side; shared by all kernels.

#pragma once

#include <cstdint>
#include <cstring>

namespace {

typedef float Vector __attribute__((vector_size(64)));  // compilers make of it what the processor has
constexpr int LANES = 16;

struct Half {  // bfloat16: the upper half of a float
    std::uint16_t bits;
};

inline float wide(float x) { return x; }

inline float wide(Half x) {
    const std::uint32_t bits = std::uint32_t(x.bits) << 16;
    float out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

inline void put(float& to, float x) { to = x; }

inline void put(Half& to, float x) {  // to the nearest, ties to even
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    to.bits = std::uint16_t(x == x ? rounded : 0x7fc0);
}

}  // namespace

// A call for either type of numbers, and the pointers of its arguments.
#define BOTH(half, ...)                  \
    if (half) {                          \
        using Number = Half;             \
        __VA_ARGS__;                     \
    } else {                             \
        using Number = float;            \
        __VA_ARGS__;                     \
    }
#define IN(x) static_cast<const Number*>(x)
#define OUT(x) static_cast<Number*>(x)
