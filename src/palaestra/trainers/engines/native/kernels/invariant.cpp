// A decoder's forward pass in a fixed order of summation: what a row comes to depends on that row and the weights alone.
//
// Neither the rows beside it, nor the number of threads, nor the instruction set changes a bit. Three rules make it so:
// a product is one chain of fused multiply-adds over K; every other sum has sixteen lanes and one tree; the compiler
// contracts nothing (-ffp-contract=off), so that an elementwise loop gives the same in vectors and in its tail.
// Numbers in half precision are widened, worked on in single precision, and rounded once where they are stored.
//
// Axes: T tokens, K numbers that are summed over, N columns of a product, P panels of columns, C hidden, H heads,
// G key-value heads, D head dimension, B turns, V vocabulary.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#include "e4m3.h"
#include "half.h"

namespace {

inline Vector load(const float* x) {
    Vector out;
    std::memcpy(&out, x, sizeof out);
    return out;
}

inline Vector load(const Half* x) {
    typedef std::uint16_t Halves __attribute__((vector_size(32)));
    typedef std::uint32_t Wholes __attribute__((vector_size(64)));
    Halves bits;
    std::memcpy(&bits, x, sizeof bits);
    const Wholes wide = __builtin_convertvector(bits, Wholes) << 16;
    Vector out;
    std::memcpy(&out, &wide, sizeof out);
    return out;
}

template <class Number>
inline Vector load_some(const Number* x, int count) {  // 0 behind them
    float lanes[LANES] = {};
    for (int i = 0; i < count; ++i) lanes[i] = wide(x[i]);
    return load(lanes);
}

template <class Number>
inline void store_some(Number* to, Vector x, int count) {
    for (int i = 0; i < count; ++i) put(to[i], x[i]);
}

inline Vector same(float x) { return Vector{} + x; }

// a * b + c, rounded once.
inline Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    __m256 x[2], y[2], z[2];
    std::memcpy(x, &a, sizeof a);
    std::memcpy(y, &b, sizeof b);
    std::memcpy(z, &c, sizeof c);
    for (int i = 0; i < 2; ++i) z[i] = _mm256_fmadd_ps(x[i], y[i], z[i]);
    std::memcpy(&c, z, sizeof c);
    return c;
#else
    for (int i = 0; i < LANES; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#endif
}

// The sum of the lanes: eight pairs, four pairs of those, two, one.
inline float total_of(Vector x) {
    float lanes[LANES];
    std::memcpy(lanes, &x, sizeof x);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

// e to the power of x, within 2 units in the last place; 0 where it would be below 1e-38. (Cephes, expf)
inline float exponential(float power) {
    float x = power < -87.0f ? -87.0f : power;
    x = x > 88.0f ? 88.0f : x;
    const float n = std::floor(__builtin_fmaf(x, 1.44269504f, 0.5f));
    x = __builtin_fmaf(n, -0.693359375f, x);
    x = __builtin_fmaf(n, 2.12194440e-4f, x);
    float y = 1.9875691500e-4f;
    y = __builtin_fmaf(y, x, 1.3981999507e-3f);
    y = __builtin_fmaf(y, x, 8.3334519073e-3f);
    y = __builtin_fmaf(y, x, 4.1665795894e-2f);
    y = __builtin_fmaf(y, x, 1.6666665459e-1f);
    y = __builtin_fmaf(y, x, 5.0000001201e-1f);
    y = __builtin_fmaf(y, x * x, x) + 1.0f;
    const std::int32_t bits = (std::int32_t(n) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return power < -87.0f ? 0.0f : y * scale;
}

// Sine and cosine of an angle of any size that a context has, in double precision. (fdlibm, k_sin and k_cos)
inline void turn_by(double angle, float& cosine, float& sine) {
    const double n = std::floor(angle * 0.63661977236758134308 + 0.5);
    double x = __builtin_fma(n, -1.57079632673412561417e+00, angle);
    x = __builtin_fma(n, -6.07710050650619224932e-11, x);
    const double z = x * x;
    double s = __builtin_fma(1.58969099521155010221e-10, z, -2.50507602534068634195e-08);
    s = __builtin_fma(s, z, 2.75573137070700676789e-06);
    s = __builtin_fma(s, z, -1.98412698298579493134e-04);
    s = __builtin_fma(s, z, 8.33333333332248946124e-03);
    s = __builtin_fma(s, z, -1.66666666666666324348e-01);
    s = __builtin_fma(s * z, x, x);
    double c = __builtin_fma(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09);
    c = __builtin_fma(c, z, -2.75573143513906633035e-07);
    c = __builtin_fma(c, z, 2.48015872894767294178e-05);
    c = __builtin_fma(c, z, -1.38888888888741095749e-03);
    c = __builtin_fma(c, z, 4.16666666666666019037e-02);
    c = __builtin_fma(c * z, z, __builtin_fma(z, -0.5, 1.0));
    const std::int64_t quarter = std::int64_t(n);
    const double up = quarter & 1 ? c : s, across = quarter & 1 ? s : c;
    sine = float(quarter & 2 ? -up : up);
    cosine = float((quarter + 1) & 2 ? -across : across);
}

// Products. Weights stand in panels of as many columns as two vectors have lanes, [P, K, 32], zeros behind the last.
// How many sums go on at once follows from the registers: twenty-four vectors with AVX-512, six where a vector is two
// registers of sixteen. It is a matter of speed alone, for no sum depends on another.
constexpr int WIDTH = 2 * LANES, ROWS_OF_A_TASK = 96;
#if defined(__AVX512F__)
constexpr int MOST_ROWS = 12;
#else
constexpr int MOST_ROWS = 3;
#endif
constexpr double ALONE = 65536.0;  // multiplications below which a second thread does not pay

template <class Number>
void pack(int threads, int N, int K, const Number* w_NK, Number* panels_PKW) {
    const int panels = (N + WIDTH - 1) / WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int p = 0; p < panels; ++p) {
        Number* to = panels_PKW + std::int64_t(p) * K * WIDTH;
        const Number* from = w_NK + std::int64_t(p) * WIDTH * K;
        const int columns = std::min(WIDTH, N - p * WIDTH);
        for (int k = 0; k < K; ++k, to += WIDTH) {
            for (int n = 0; n < columns; ++n) to[n] = from[std::int64_t(n) * K + k];
            for (int n = columns; n < WIDTH; ++n) put(to[n], 0.0f);
        }
    }
}

inline void store(float* to, Vector x) { std::memcpy(to, &x, sizeof x); }
inline void store(Half* to, Vector x) { store_some(to, x, LANES); }

// ROWS x PANELS of a product: every sum is one chain over K, whatever stands beside it.
template <int ROWS, int PANELS, class Weight, class Out>
void multiply(const float* x, const Weight* panels, int K, int columns, std::int64_t N, Out* y) {
    constexpr int VECTORS = 2 * PANELS;
    Vector sum[ROWS][VECTORS] = {};
    for (int k = 0; k < K; ++k) {
        Vector w[VECTORS];
        for (int v = 0; v < VECTORS; ++v)
            w[v] = load(panels + (std::int64_t(v / 2) * K + k) * WIDTH + v % 2 * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const Vector own = same(x[std::int64_t(r) * K + k]);
            for (int v = 0; v < VECTORS; ++v) sum[r][v] = fused(own, w[v], sum[r][v]);
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) {
            const int left = columns - v * LANES;
            if (left >= LANES) store(y + r * N + v * LANES, sum[r][v]);
            else if (left > 0) store_some(y + r * N + v * LANES, sum[r][v], left);
        }
}

constexpr int panels_beside(int rows) { return rows * 4 <= MOST_ROWS ? 4 : rows * 2 <= MOST_ROWS ? 2 : 1; }

template <int ROWS, class Weight, class Out>
void multiply_panels(const float* x, const Weight* panels, int K, int columns, std::int64_t N, Out* y) {
    constexpr int PANELS = panels_beside(ROWS);
    while (columns > 0) {
        const bool all = columns > (PANELS - 1) * WIDTH;
        if (all) multiply<ROWS, PANELS>(x, panels, K, columns, N, y);
        else multiply<ROWS, 1>(x, panels, K, columns, N, y);
        const int done = all ? PANELS : 1;
        panels += std::int64_t(done) * K * WIDTH;
        columns -= done * WIDTH;
        y += done * WIDTH;
    }
}

template <int ROWS, class Weight, class Out>
void multiply_rows(int rows, const float* x, const Weight* panels, int K, int columns, std::int64_t N, Out* y) {
    if (rows == ROWS) return multiply_panels<ROWS>(x, panels, K, columns, N, y);
    if constexpr (ROWS > 1) multiply_rows<ROWS - 1>(rows, x, panels, K, columns, N, y);
}

template <class Weight, class Out>
void multiply_task(int rows, const float* x, const Weight* panels, int K, int columns, std::int64_t N, Out* y) {
    const int blocks = (rows + MOST_ROWS - 1) / MOST_ROWS;
    for (int block = 0, t = 0; block < blocks; ++block) {
        const int here = (rows - t + blocks - block - 1) / (blocks - block);
        multiply_rows<MOST_ROWS>(here, x + std::int64_t(t) * K, panels, K, columns, N, y + std::int64_t(t) * N);
        t += here;
    }
}

template <class Weight>
const float* widened(const Weight* panels, int columns, int K, std::vector<float>& to) {
    const std::size_t count = std::size_t((columns + WIDTH - 1) / WIDTH) * K * WIDTH;
    to.resize(count);
    for (std::size_t i = 0; i < count; i += LANES) store(to.data() + i, load(panels + i));
    return to.data();
}

template <class Weight, class Out>
void product(int threads, int T, int N, int K, const float* x_TK, const Weight* panels_PKW, Out* y_TN) {
    const int groups = (N + 4 * WIDTH - 1) / (4 * WIDTH), parts = (T + ROWS_OF_A_TASK - 1) / ROWS_OF_A_TASK;
    if (double(T) * N * K < ALONE) threads = 1;
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> wide_panels;
#pragma omp for collapse(2) schedule(static)
        for (int part = 0; part < parts; ++part)
            for (int group = 0; group < groups; ++group) {
                const int first = group * 4 * WIDTH, columns = std::min(4 * WIDTH, N - first);
                const int begin = part * ROWS_OF_A_TASK, end = std::min(T, begin + ROWS_OF_A_TASK);
                const float* x = x_TK + std::int64_t(begin) * K;
                Out* y = y_TN + std::int64_t(begin) * N + first;
                const Weight* panels = panels_PKW + std::int64_t(first) * K;
                if (std::is_same<Weight, float>::value || end - begin <= MOST_ROWS)
                    multiply_task(end - begin, x, panels, K, columns, N, y);
                else  // weights in half precision are widened once, and not for each block of rows
                    multiply_task(end - begin, x, widened(panels, columns, K, wide_panels), K, columns, N, y);
            }
    }
}

// y = x / sqrt(mean(x * x) + epsilon) * w, for each row.
template <class Number>
void norm(int threads, int T, int C, float epsilon, const Number* x_TC, const Number* w_C, Number* y_TC) {
    if (double(T) * C < ALONE) threads = 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) {
        const Number* x = x_TC + std::int64_t(t) * C;
        Number* y = y_TC + std::int64_t(t) * C;
        Vector squares = {};
        const int whole = C / LANES * LANES;
        for (int c = 0; c < whole; c += LANES) squares = fused(load(x + c), load(x + c), squares);
        if (whole < C) {
            const Vector rest = load_some(x + whole, C - whole);
            squares = fused(rest, rest, squares);
        }
        const float scale = 1.0f / std::sqrt(total_of(squares) / float(C) + epsilon);
#pragma omp simd
        for (int c = 0; c < C; ++c) put(y[c], wide(x[c]) * scale * wide(w_C[c]));
    }
}

// Cosines of each token's angles, and sines, those of the first half negated.
void rotation(int threads, int T, int half, const std::int64_t* position_T, const float* frequency, float* cos_TD,
              float* sin_TD) {
    if (double(T) * half < ALONE / 16) threads = 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) {
        float *cosine = cos_TD + std::int64_t(t) * 2 * half, *sine = sin_TD + std::int64_t(t) * 2 * half;
        const float position = float(position_T[t]);
#pragma omp simd
        for (int d = 0; d < half; ++d) {
            float c, s;
            turn_by(double(position * frequency[d]), c, s);
            cosine[d] = cosine[d + half] = c;
            sine[d] = -s;
            sine[d + half] = s;
        }
    }
}

template <class Number>
void turn(int threads, int T, int heads, int D, const Number* x_THD, const float* cos_TD, const float* sin_TD,
          Number* y_THD) {
    const int half = D / 2;
    if (double(T) * heads * D < ALONE) threads = 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) {
        const float *cosine = cos_TD + std::int64_t(t) * D, *sine = sin_TD + std::int64_t(t) * D;
        for (int h = 0; h < heads; ++h) {
            const Number* x = x_THD + (std::int64_t(t) * heads + h) * D;
            Number* y = y_THD + (std::int64_t(t) * heads + h) * D;
#pragma omp simd
            for (int d = 0; d < half; ++d) {
                const float left = wide(x[d]), right = wide(x[d + half]);
                put(y[d], __builtin_fmaf(right, sine[d], left * cosine[d]));
                put(y[d + half], __builtin_fmaf(left, sine[d + half], right * cosine[d + half]));
            }
        }
    }
}

template <class Number>
void gate(int threads, std::int64_t count, const Number* gate_N, const Number* up_N, Number* y_N) {
    if (double(count) < ALONE / 4) threads = 1;
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (std::int64_t n = 0; n < count; ++n) {
        const float x = wide(gate_N[n]);
        put(y_N[n], x / (1.0f + exponential(-x)) * wide(up_N[n]));
    }
}

// Attention. Places are gone through in blocks from the first on, so a token's result does not depend on how many came
// with it: scores of a block, then its values in their proportion, what came before scaled to the greatest score so far.
constexpr int BLOCK = 64, TOGETHER = 16;

template <int D>
struct Query {
    Vector q[D / LANES], seen[D / LANES];
    float most, sum;
    int length;
};

template <int D>
void see_block(Query<D>& query, const float* keys, const float* values, int count) {
    constexpr int N = D / LANES;
    float score[BLOCK];
    Vector q[N];
    std::memcpy(q, query.q, sizeof q);
    for (int w = 0; w < count; ++w) {
        Vector dot = q[0] * load(keys + w * D);
        for (int n = 1; n < N; ++n) dot = fused(q[n], load(keys + w * D + n * LANES), dot);
        score[w] = total_of(dot);
    }
    for (int w = count; w < BLOCK; ++w) score[w] = -INFINITY;
    float most = query.most;
#pragma omp simd reduction(max : most)
    for (int w = 0; w < BLOCK; ++w) most = score[w] > most ? score[w] : most;
    const float before = query.most == -INFINITY ? 0.0f : exponential(query.most - most);
#pragma omp simd
    for (int w = 0; w < BLOCK; ++w) score[w] = exponential(score[w] - most);
    Vector sums = {};
    for (int w = 0; w < BLOCK; w += LANES) sums += load(score + w);
    Vector seen[N];
    for (int n = 0; n < N; ++n) seen[n] = query.seen[n] * before;
    for (int w = 0; w < count; ++w)
        for (int n = 0; n < N; ++n) seen[n] = fused(same(score[w]), load(values + w * D + n * LANES), seen[n]);
    std::memcpy(query.seen, seen, sizeof seen);
    query.sum = query.sum * before + total_of(sums);
    query.most = most;
}

inline const float* as_floats(const float* x, std::int64_t stride, int count, int D, float* to) {
    if (stride == D) return x;
    for (int w = 0; w < count; ++w) std::memcpy(to + w * D, x + w * stride, D * sizeof(float));
    return to;
}

inline const float* as_floats(const Half* x, std::int64_t stride, int count, int D, float* to) {
    for (int w = 0; w < count; ++w)
        for (int d = 0; d < D; d += LANES) store(to + w * D + d, load(x + w * stride + d));
    return to;
}

inline const float* as_floats(const Coded* x, std::int64_t stride, int count, int D, float* to) {
    for (int w = 0; w < count; ++w) {
        const float scale = scale_of(x[w * stride + D]);
        for (int d = 0; d < D; d += LANES) store(to + w * D + d, decoded(x + w * stride + d, scale));
    }
    return to;
}

// Several queries of one sequence, over its keys and values.
template <int D, class Stored>
void see(Query<D>* queries, int count, const Stored* k, const Stored* v, std::int64_t stride, const std::int64_t* before,
         float* scratch) {
    int longest = 0;
    for (int i = 0; i < count; ++i) longest = std::max(longest, queries[i].length);
    for (int from = 0; from < longest; from += BLOCK) {
        const int here = std::min(BLOCK, longest - from);
        const std::int64_t block = before[from / BLOCK];
        const float* keys = as_floats(k + block, stride, here, D, scratch);
        const float* values = as_floats(v + block, stride, here, D, scratch + BLOCK * D);
        for (int i = 0; i < count; ++i)
            if (queries[i].length > from) see_block(queries[i], keys, values, std::min(BLOCK, queries[i].length - from));
    }
}

struct Strides {
    std::int64_t group, place;  // of keys and of values alike
};

// Where sequences stand: each in blocks of BLOCK places, and before_RN[r * most + n] numbers before block n of sequence r.
struct Blocks {
    const std::int64_t* before_RN;
    int most;
};

// Token t sees the places 0 to place_T[t] of sequence row_T[t].
template <int D, class Number, class Stored>
void attend(int threads, int T, int H, int G, const Number* q_THD, const Stored* k, const Stored* v, Strides strides,
            Blocks blocks, const std::int64_t* row_T, const std::int64_t* place_T, Number* out_THD) {
    constexpr int N = D / LANES;
    const int S = H / G;
    const float scale = 1.0f / std::sqrt(float(D));
    std::vector<int> starts;  // of runs of tokens of one sequence
    for (int t = 0; t < T; ++t)
        if (!t || row_T[t] != row_T[t - 1] || (t - starts.back()) * S >= TOGETHER) starts.push_back(t);
    starts.push_back(T);
    const int runs = int(starts.size()) - 1;
#pragma omp parallel num_threads(threads)
    {
        std::vector<Query<D>> queries(std::size_t(TOGETHER + S));
        std::vector<float> scratch(std::size_t(2 * BLOCK) * D);
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < runs * G; ++i) {
            const int g = i % G, from = starts[i / G], to = starts[i / G + 1];
            int count = 0;
            for (int t = from; t < to; ++t)
                for (int s = 0; s < S; ++s, ++count) {
                    Query<D>& query = queries[count];
                    const Number* q = q_THD + (std::int64_t(t) * H + g * S + s) * D;
                    for (int n = 0; n < N; ++n) {
                        query.q[n] = load(q + n * LANES) * scale;
                        query.seen[n] = Vector{};
                    }
                    query.most = -INFINITY;
                    query.sum = 0.0f;
                    query.length = int(place_T[t]) + 1;
                }
            see<D>(queries.data(), count, k + g * strides.group, v + g * strides.group, strides.place,
                   blocks.before_RN + row_T[from] * blocks.most, scratch.data());
            count = 0;
            for (int t = from; t < to; ++t)
                for (int s = 0; s < S; ++s, ++count)
                    for (int n = 0; n < N; ++n)
                        store(out_THD + (std::int64_t(t) * H + g * S + s) * D + n * LANES,
                              queries[count].seen[n] / queries[count].sum);
        }
    }
}

template <class Number, class Stored>
int attend_any(int D, int threads, int T, int H, int G, const void* q, const void* k, const void* v, Strides strides,
               Blocks blocks, const std::int64_t* row, const std::int64_t* place, void* out) {
    const auto call = [&](auto known) {
        attend<decltype(known)::value>(threads, T, H, G, static_cast<const Number*>(q), static_cast<const Stored*>(k),
                                       static_cast<const Stored*>(v), strides, blocks, row, place,
                                       static_cast<Number*>(out));
        return 0;
    };
    switch (D) {
        case 16: return call(std::integral_constant<int, 16>());
        case 32: return call(std::integral_constant<int, 32>());
        case 64: return call(std::integral_constant<int, 64>());
        case 80: return call(std::integral_constant<int, 80>());
        case 96: return call(std::integral_constant<int, 96>());
        case 128: return call(std::integral_constant<int, 128>());
        case 256: return call(std::integral_constant<int, 256>());
        default: return 1;
    }
}

// Distributions over the vocabulary. Sums are of parts, so that a draw need not go through all tokens.
constexpr int PART = 256;

struct Odds {
    float most, scale;
    double total;
};

inline float power_of(float logit, const Odds& odds) { return (logit - odds.most) * odds.scale; }

// Fills in p_V, not normalised, and the sum of each part.
Odds weigh(const float* logits, int V, const double* temperature, float* p_V, float* sum_of) {
    Odds odds{-INFINITY, temperature ? float(1.0 / *temperature) : 1.0f, 0.0};
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int v = 0; v < V; ++v) most = logits[v] > most ? logits[v] : most;
    odds.most = most;
    for (int part = 0, from = 0; from < V; ++part, from += PART) {
        const int end = std::min(from + PART, V);
#pragma omp simd
        for (int v = from; v < end; ++v) p_V[v] = exponential(power_of(logits[v], odds));
        Vector sums = {};
        int v = from;
        for (; v + LANES <= end; v += LANES) sums += load(p_V + v);
        if (v < end) sums += load_some(p_V + v, end - v);
        odds.total += sum_of[part] = total_of(sums);
    }
    return odds;
}

inline float logarithm_of(float logit, const Odds& odds) {
    return float(double(power_of(logit, odds)) - std::log(odds.total));
}

void draw(int threads, int B, int V, const float* logits_BV, const double* noise_B, const double* temperature_B,
          double* out_2B) {
    const int parts = (V + PART - 1) / PART;
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> p_V(V), sum_of(parts);
#pragma omp for schedule(static)
        for (int b = 0; b < B; ++b) {
            const float* logits = logits_BV + std::int64_t(b) * V;
            const Odds odds = weigh(logits, V, temperature_B ? temperature_B + b : nullptr, p_V.data(), sum_of.data());
            const double wanted = noise_B[b] * odds.total;
            double below = 0.0;
            int part = 0;
            while (part < parts - 1 && below + sum_of[part] <= wanted) below += sum_of[part++];
            int drawn = 0;  // rounding may leave a part's end short of the noise: then it is the last one there can be
            for (int v = part * PART; v < V; ++v) {
                if (p_V[v] > 0.0f) drawn = v;
                below += p_V[v];
                if (below > wanted) break;
            }
            out_2B[b] = drawn;
            out_2B[B + b] = logarithm_of(logits[drawn], odds);
        }
    }
}

void score(int threads, int B, int V, const float* logits_BV, const std::int64_t* token_B, const double* temperature_B,
           float* logp_B, float* entropy_B) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> p_V(V), sum_of((V + PART - 1) / PART);
#pragma omp for schedule(static)
        for (int b = 0; b < B; ++b) {
            const float* logits = logits_BV + std::int64_t(b) * V;
            const Odds odds = weigh(logits, V, temperature_B ? temperature_B + b : nullptr, p_V.data(), sum_of.data());
            logp_B[b] = logarithm_of(logits[token_B[b]], odds);
            Vector sums = {};
            int v = 0;
            for (; v + LANES <= V; v += LANES) {
                Vector powers;
                for (int lane = 0; lane < LANES; ++lane)  // of what has no probability the power may be infinite
                    powers[lane] = p_V[v + lane] > 0.0f ? power_of(logits[v + lane], odds) : 0.0f;
                sums = fused(load(p_V.data() + v), powers, sums);
            }
            double mean = total_of(sums);
            for (; v < V; ++v)
                if (p_V[v] > 0.0f) mean += double(p_V[v]) * power_of(logits[v], odds);
            entropy_B[b] = float(std::log(odds.total) - mean / odds.total);
        }
    }
}

}  // namespace

extern "C" {

void palaestra_pack(int half, int threads, int N, int K, const void* w, void* panels) {
    BOTH(half, pack(threads, N, K, IN(w), OUT(panels)))
}

// Rows are in single precision; what comes out is in that of the weights, or in single precision too.
void palaestra_product(int half, int single, int threads, int T, int N, int K, const float* x, const void* panels,
                       void* y) {
    if (half && !single) product(threads, T, N, K, x, static_cast<const Half*>(panels), static_cast<Half*>(y));
    else if (half) product(threads, T, N, K, x, static_cast<const Half*>(panels), static_cast<float*>(y));
    else product(threads, T, N, K, x, static_cast<const float*>(panels), static_cast<float*>(y));
}

void palaestra_norm(int half, int threads, int T, int C, float epsilon, const void* x, const void* w, void* y) {
    BOTH(half, norm(threads, T, C, epsilon, IN(x), IN(w), OUT(y)))
}

void palaestra_rotation(int threads, int T, int half, const std::int64_t* position, const float* frequency, float* cos,
                        float* sin) {
    rotation(threads, T, half, position, frequency, cos, sin);
}

void palaestra_turn(int half, int threads, int T, int heads, int D, const void* x, const float* cos, const float* sin,
                    void* y) {
    BOTH(half, turn(threads, T, heads, D, IN(x), cos, sin, OUT(y)))
}

void palaestra_gate(int half, int threads, std::int64_t count, const void* gate_N, const void* up, void* y) {
    BOTH(half, gate(threads, count, IN(gate_N), IN(up), OUT(y)))
}

// `coded`: keys and values are in E4M3. Returns 1 where there is no code for D.
int palaestra_attend(int half, int coded, int threads, int T, int H, int G, int D, const void* q, const void* k, const void* v,
                     std::int64_t group, std::int64_t place, const std::int64_t* before_RN, int most,
                     const std::int64_t* row_T, const std::int64_t* place_T, void* out) {
    BOTH(half, const auto call = coded ? attend_any<Number, Coded> : attend_any<Number, Number>;
         return call(D, threads, T, H, G, q, k, v, Strides{group, place}, Blocks{before_RN, most}, row_T, place_T, out))
}

void palaestra_draw(int threads, int B, int V, const float* logits, const double* noise, const double* temperature,
                    double* out) {
    draw(threads, B, V, logits, noise, temperature, out);
}

void palaestra_score(int threads, int B, int V, const float* logits, const std::int64_t* token,
                     const double* temperature, float* logp, float* entropy) {
    score(threads, B, V, logits, token, temperature, logp, entropy);
}

}
