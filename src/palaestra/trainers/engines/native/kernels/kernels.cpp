// What a decoder does between its matrix products, on a processor. Plain C++17 and OpenMP; `compiled.py` calls it.
//
// Every result is a function of its inputs alone: sums run in one order, whatever the number of threads. A number that
// is none stays none.
//
// Axes: T tokens, C hidden, H heads, G key-value heads, S heads that share one (H = G * S), D head dimension,
// W places of a row, N width of the feed-forward layer, B turns, V vocabulary.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "e4m3.h"
#include "half.h"

namespace {

// e to the power of x, within 2 units in the last place; 0 where it would be below 1e-38. (Cephes, expf)
inline float exponential(float power) {
    float x = power < -87.0f ? -87.0f : power;
    x = x > 88.0f ? 88.0f : x;
    const float n = std::floor(x * 1.44269504f + 0.5f);
    x = x - n * 0.693359375f;
    x = x + n * 2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * x + 1.3981999507e-3f;
    y = y * x + 8.3334519073e-3f;
    y = y * x + 4.1665795894e-2f;
    y = y * x + 1.6666665459e-1f;
    y = y * x + 5.0000001201e-1f;
    y = y * x * x + x + 1.0f;
    const std::int32_t bits = (std::int32_t(n) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return power < -87.0f ? 0.0f : y * scale;
}

// y = x / sqrt(mean(x * x) + epsilon) * w, over C numbers; y may be x.
template <class Number>
inline void normalise(const Number* x, const Number* w, float epsilon, int C, Number* y) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < C; ++c) sum += wide(x[c]) * wide(x[c]);
    const float scale = 1.0f / std::sqrt(sum / float(C) + epsilon);
#pragma omp simd
    for (int c = 0; c < C; ++c) put(y[c], wide(x[c]) * scale * wide(w[c]));
}

typedef float Four __attribute__((vector_size(16)));

inline void put(float* to, Four x) { std::memcpy(to, &x, sizeof x); }

inline Vector load(const float* x) {
    Vector out;
    std::memcpy(&out, x, sizeof out);
    return out;
}

// Vectors of D numbers that stand one behind the other, all of them in single precision.
template <int D>
inline const float* widened(const float* x, int, float*) { return x; }

template <int D>
inline const float* widened(const Half* x, int vectors, float* to) {
    typedef std::uint16_t Halves __attribute__((vector_size(32)));
    typedef std::uint32_t Wholes __attribute__((vector_size(64)));
    for (int i = 0; i < vectors * D; i += LANES) {
        Halves bits;
        std::memcpy(&bits, x + i, sizeof bits);
        const Wholes wide = __builtin_convertvector(bits, Wholes) << 16;
        std::memcpy(to + i, &wide, sizeof wide);
    }
    return to;
}

template <int D>
inline const float* widened(const Coded* x, int vectors, float* to) {
    for (int i = 0; i < vectors; ++i, x += width<Coded>(D), to += D) {
        const float scale = scale_of(x[D]);
        for (int d = 0; d < D; d += LANES) {
            const Vector wide = decoded(x + d, scale);
            std::memcpy(to + d, &wide, sizeof wide);
        }
    }
    return to - vectors * D;
}

template <class Number>
inline void hold(const Number* x, int D, Number* to) { std::memcpy(to, x, D * sizeof(Number)); }

template <class Number>
inline void hold(const Number* x, int D, Coded* to) { encode(x, D, to); }

// The sums of four.
inline Four sums_of(Vector a, Vector b, Vector c, Vector d) {
    const Vector ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                      __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const Vector cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                      __builtin_shufflevector(c, d, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const Vector fours = __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                         __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const Vector twos = fours + __builtin_shufflevector(fours, fours, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const Vector ones = twos + __builtin_shufflevector(twos, twos, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return Four{ones[0], ones[4], ones[8], ones[12]};
}

// What S heads take from the first `length` places of one sequence, in one pass over its keys and values: of each block of
// places, which is a page, the scores, then the values in their proportion, with what came before scaled to the greatest score so far.
constexpr int BLOCK = 64;  // BLOCK_PLACES in compiled.py
constexpr int LINE = 64;  // bytes that memory gives at once

template <int D, class Number, class Stored>
void see(const Number* q_SD, const Stored* kv, std::int64_t page_stride, const std::int64_t* page_of, int length, int S,
         float scale, Number* out_SD) {
    constexpr int N = D / LANES, WAYS = N > 4 ? 1 : 4;  // sums that do not wait for each other
    struct Head {
        Vector q[N], seen[N];
        float most, sum;
    };
    static thread_local std::vector<Head> heads;
    float block[BLOCK * 2 * D];
    heads.resize(S);
    for (int s = 0; s < S; ++s) {
        for (int n = 0; n < N; ++n) {
            for (int lane = 0; lane < LANES; ++lane) heads[s].q[n][lane] = wide(q_SD[s * D + n * LANES + lane]) * scale;
            heads[s].seen[n] = Vector{};
        }
        heads[s].most = -INFINITY;
        heads[s].sum = 0.0f;
    }
    for (int from = 0; from < length; from += BLOCK) {
        const int count = length - from < BLOCK ? length - from : BLOCK;
        const float* kv_W2D = widened<D>(kv + page_of[from / BLOCK] * page_stride, count * 2, block);
        if (from + BLOCK < length) {  // the next block is fetched meanwhile
            const Stored* next_W2N = kv + page_of[from / BLOCK + 1] * page_stride;
            const int there = length - from - BLOCK < BLOCK ? length - from - BLOCK : BLOCK;
            for (int i = 0; i < there * 2 * width<Stored>(D); i += LINE / sizeof(Stored)) __builtin_prefetch(next_W2N + i, 0, 2);
        }
        for (int s = 0; s < S; ++s) {
            Head& head = heads[s];
            float score[BLOCK];
            Vector q[N], seen[N];
            std::memcpy(q, head.q, sizeof q);
            const auto dot = [&](int w) {
                const float* key = kv_W2D + w * 2 * D;
                Vector product = q[0] * load(key);
                for (int n = 1; n < N; ++n) product += q[n] * load(key + n * LANES);
                return product;
            };
            const int last = count - 1, fours = count / 4 * 4;
            for (int w = 0; w < fours; w += 4) put(score + w, sums_of(dot(w), dot(w + 1), dot(w + 2), dot(w + 3)));
            if (fours < count) {  // the last ones more than once, and no more than that
                const int second = fours + 1 < last ? fours + 1 : last, third = fours + 2 < last ? fours + 2 : last;
                put(score + fours, sums_of(dot(fours), dot(second), dot(third), dot(last)));
            }
            float most = head.most;
#pragma omp simd reduction(max : most)
            for (int w = 0; w < count; ++w) most = score[w] > most ? score[w] : most;
            const float before = from ? exponential(head.most - most) : 0.0f;
            float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
            for (int w = 0; w < count; ++w) {
                score[w] = exponential(score[w] - most);
                sum += score[w];
            }
            Vector part[WAYS][N] = {};
            const auto add = [&](int way, int w) {
                const float* value = kv_W2D + w * 2 * D + D;
                for (int n = 0; n < N; ++n) part[way][n] += score[w] * load(value + n * LANES);
            };
            int w = 0;
            for (; w + WAYS <= count; w += WAYS)
                for (int way = 0; way < WAYS; ++way) add(way, w + way);
            for (; w < count; ++w) add(0, w);
            for (int n = 0; n < N; ++n) {
                seen[n] = head.seen[n] * before;
                for (int way = 0; way < WAYS; ++way) seen[n] += part[way][n];
            }
            std::memcpy(head.seen, seen, sizeof seen);
            head.sum = head.sum * before + sum;
            head.most = most;
        }
    }
    for (int s = 0; s < S; ++s) {
        for (int n = 0; n < N; ++n) {
            const Vector seen = heads[s].seen[n] / heads[s].sum;
            for (int lane = 0; lane < LANES; ++lane) put(out_SD[s * D + n * LANES + lane], seen[lane]);
        }
    }
}

template <int D, class Number, class Stored>
void attend(int threads, int T, int H, int G, int P, const Number* q_THD, const Number* k_TGD, const Number* v_TGD,
            std::int64_t stride, Stored* kv_PGW2N, const std::int64_t* table_RP, const std::int64_t* row_T,
            const std::int64_t* place_T, Number* out_THD) {
    constexpr int N = width<Stored>(D);
    const int S = H / G;
    const std::int64_t head = BLOCK * 2 * N, page_stride = G * head;
    const float scale = 1.0f / std::sqrt(float(D));
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < T; ++t) {
            const std::int64_t page = table_RP[row_T[t] * P + place_T[t] / BLOCK];
            for (int g = 0; g < G; ++g) {
                Stored* kv = kv_PGW2N + page * page_stride + g * head + place_T[t] % BLOCK * 2 * N;
                hold(k_TGD + t * stride + g * D, D, kv);
                hold(v_TGD + t * stride + g * D, D, kv + N);
            }
        }
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < T * G; ++i) {
            const int t = i / G, g = i % G;
            see<D>(q_THD + t * stride + g * S * D, kv_PGW2N + g * head, page_stride, table_RP + row_T[t] * P,
                   int(place_T[t]) + 1, S, scale, out_THD + (std::int64_t(t) * H + g * S) * D);
        }
    }
}

template <class Number, class Stored>
int attend_any(int D, int threads, int T, int H, int G, int P, const void* q, const void* k, const void* v,
               std::int64_t stride, void* kv, const std::int64_t* table, const std::int64_t* row,
               const std::int64_t* place, void* out) {
    const auto call = [&](auto known) {
        attend<decltype(known)::value>(threads, T, H, G, P, static_cast<const Number*>(q),
                                       static_cast<const Number*>(k), static_cast<const Number*>(v), stride,
                                       static_cast<Stored*>(kv), table, row, place, static_cast<Number*>(out));
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

template <class Number>
void norm(int threads, int T, int C, float epsilon, const Number* x, const Number* w, Number* out) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) normalise(x + std::int64_t(t) * C, w, epsilon, C, out + std::int64_t(t) * C);
}

// Norms and turns the first `turned` of the heads of each token, in place.
template <class Number>
void turn(int threads, int T, int heads, int turned, int D, float epsilon, const Number* norm_HD, const Number* cos_TD,
          const Number* sin_TD, Number* x_THD) {
    const int half = D / 2;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) {
        const Number *cosine = cos_TD + std::int64_t(t) * D, *sine = sin_TD + std::int64_t(t) * D;
        for (int h = 0; h < turned; ++h) {
            Number* x = x_THD + (std::int64_t(t) * heads + h) * D;
            if (norm_HD) normalise(x, norm_HD + h * D, epsilon, D, x);
#pragma omp simd
            for (int d = 0; d < half; ++d) {
                const float left = wide(x[d]), right = wide(x[d + half]);
                put(x[d], left * wide(cosine[d]) + right * wide(sine[d]));
                put(x[d + half], right * wide(cosine[d + half]) + left * wide(sine[d + half]));
            }
        }
    }
}

template <class Number>
void gate(int threads, int T, int N, const Number* x_T2N, Number* out_TN) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < T; ++t) {
        const Number *gate_N = x_T2N + std::int64_t(t) * 2 * N, *up_N = gate_N + N;
        Number* out_N = out_TN + std::int64_t(t) * N;
#pragma omp simd
        for (int n = 0; n < N; ++n) {
            const float x = wide(gate_N[n]);
            put(out_N[n], x / (1.0f + exponential(-x)) * wide(up_N[n]));
        }
    }
}

// The first token whose probability, with those of all before it, passes the noise; and the logarithm of its own.
// Sums are of parts, so that tokens need not be gone through one by one up to the drawn one.
constexpr int PART = 256;

template <class Number>
void draw(int threads, int B, int V, const Number* logits_BV, const double* noise_B, const double* temperature_B,
          double* out_2B) {
    const int parts = (V + PART - 1) / PART;
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> p_V(V), sum_of(parts);
#pragma omp for schedule(static)
        for (int b = 0; b < B; ++b) {
            const Number* logits = logits_BV + std::int64_t(b) * V;
            const float scale = temperature_B ? float(1.0 / temperature_B[b]) : 1.0f;
            float most = -INFINITY;
#pragma omp simd reduction(max : most)
            for (int v = 0; v < V; ++v) most = wide(logits[v]) > most ? wide(logits[v]) : most;
            double total = 0.0;
            for (int part = 0; part < parts; ++part) {
                const int from = part * PART, end = from + PART < V ? from + PART : V;
                float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
                for (int v = from; v < end; ++v) {
                    p_V[v] = exponential((wide(logits[v]) - most) * scale);
                    sum += p_V[v];
                }
                total += sum_of[part] = sum;
            }
            const double wanted = noise_B[b] * total;
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
            out_2B[B + b] = total == total ? std::log(double(p_V[drawn]) / total) : NAN;
        }
    }
}

}  // namespace

extern "C" {

void palaestra_norm(int half, int threads, int T, int C, float epsilon, const void* x, const void* w, void* out) {
    BOTH(half, norm(threads, T, C, epsilon, IN(x), IN(w), OUT(out)))
}

void palaestra_turn(int half, int threads, int T, int heads, int turned, int D, float epsilon, const void* norm_HD,
                    const void* cos_TD, const void* sin_TD, void* x_THD) {
    BOTH(half, turn(threads, T, heads, turned, D, epsilon, IN(norm_HD), IN(cos_TD), IN(sin_TD), OUT(x_THD)))
}

// `coded`: keys and values are held in E4M3. Returns 1 where there is no code for D.
int palaestra_attend(int half, int coded, int threads, int T, int H, int G, int D, int P, const void* q, const void* k,
                     const void* v, std::int64_t stride, void* kv_PGW2N, const std::int64_t* table_RP,
                     const std::int64_t* row_T, const std::int64_t* place_T, void* out) {
    BOTH(half, const auto call = coded ? attend_any<Number, Coded> : attend_any<Number, Number>;
         return call(D, threads, T, H, G, P, q, k, v, stride, kv_PGW2N, table_RP, row_T, place_T, out))
}

void palaestra_gate(int half, int threads, int T, int N, const void* x, void* out) {
    BOTH(half, gate(threads, T, N, IN(x), OUT(out)))
}

void palaestra_draw(int half, int threads, int B, int V, const void* logits, const double* noise,
                    const double* temperature, double* out) {
    BOTH(half, draw(threads, B, V, IN(logits), noise, temperature, out))
}

}
