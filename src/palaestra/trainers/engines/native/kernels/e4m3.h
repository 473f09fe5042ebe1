// Vectors in E4M3 in memory, single precision in arithmetic: the numbers, then the byte of their scale's exponent.
// `quantised_vectors.py` says what they are, and gives the same bits.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#endif

#include "half.h"

namespace {

struct Coded {  // a number, or an exponent
    std::uint8_t bits;
};

// What a vector of D numbers takes where it is held, in numbers of that type.
template <class Stored>
constexpr int width(int D) { return sizeof(Stored) == sizeof(Coded) ? D + 1 : D; }

inline std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float of_bits(std::uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

inline float scale_of(Coded exponent) { return exponent.bits == 0xff ? NAN : of_bits(std::uint32_t(exponent.bits) << 23); }

// Sixteen numbers times their scale. What is no number has a scale that is none.
#if defined(__AVX2__) && defined(__F16C__)
inline Vector decoded(const Coded* x, float scale) {
    // Sign, exponent and fraction at the places of half precision, whose exponents count from 8 lower.
    __m128i bytes;
    std::memcpy(&bytes, x, sizeof bytes);
    const __m256i halves = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7), _mm256_set1_epi16(short(0xbf80)));
    Vector out;
#if defined(__AVX512F__)
    out = (Vector)_mm512_cvtph_ps(halves);
#else
    const __m256 parts[2] = {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
    std::memcpy(&out, parts, sizeof out);
#endif
    return out * 256.0f * scale;
}
#else
inline Vector decoded(const Coded* x, float scale) {
    typedef std::uint8_t Bytes __attribute__((vector_size(LANES)));
    typedef std::uint32_t Wholes __attribute__((vector_size(4 * LANES)));
    typedef std::int32_t Signed __attribute__((vector_size(4 * LANES)));
    Bytes bytes;
    std::memcpy(&bytes, x, sizeof bytes);
    const Wholes bits = __builtin_convertvector(bytes, Wholes), size = bits & 0x7f;
    const Vector tiny = __builtin_convertvector((Signed)size, Vector) * 0x1p-9f;  // below 2 to the power of -6
    const Wholes is_tiny = (Wholes)((Signed)size < 8);
    const Wholes found = (is_tiny & (Wholes)tiny) | (~is_tiny & ((size << 20) + (120u << 23))) | (bits & 0x80) << 24;
    return (Vector)found * scale;
}
#endif

// A scale is the least power of two that brings the largest magnitude to 448; numbers are rounded to the nearest, ties
// to even. A vector with a number that is not finite is none as a whole.
template <class Number>
inline void encode(const Number* x, int D, Coded* to) {
    std::uint32_t most = 0;
#pragma omp simd reduction(max : most)
    for (int d = 0; d < D; ++d) {
        const std::uint32_t size = bits_of(wide(x[d])) & 0x7fffffff;
        most = size > most ? size : most;
    }
    if (most >= 0x7f800000) {
        std::memset(to, 0x7f, D);
        to[D].bits = 0xff;
        return;
    }
    int exponent = int(most >> 23) - 135 + ((most & 0x7fffff) > 0x600000);
    exponent = most == 0 ? 0 : exponent < -117 ? -117 : exponent;
    const float inverse = of_bits(std::uint32_t(127 - exponent) << 23);
#pragma omp simd
    for (int d = 0; d < D; ++d) {
        const std::uint32_t bits = bits_of(wide(x[d]) * inverse), size = bits & 0x7fffffff;
        const std::uint32_t tiny = bits_of(of_bits(size) + 16384.0f) - bits_of(16384.0f);  // in steps of 2 to the power of -9
        const std::uint32_t other = (size - (120u << 23) + 0x7ffff + ((size >> 20) & 1)) >> 20;
        to[d].bits = std::uint8_t((size < 121u << 23 ? tiny : other) | (bits >> 31) << 7);
    }
    to[D].bits = std::uint8_t(exponent + 127);
}

}  // namespace
