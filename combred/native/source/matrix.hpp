// Layers of the network on the matrix unit of a CPU (Intel AMX), which multiplies tiles of bf16
// numbers, of 8 bits, and sums in float. A float is the sum of two such numbers to 16 bits, high and
// low. Of their four products three are taken, all but low with low; two where the weights are
// bf16 numbers; one where the inputs are rounded to such numbers, too. A tile has 16 rows of 64
// bytes. Where a compiler or a CPU knows no tiles, network.hpp does the same in float; so it does
// with the macro COMBRED_NO_MATRIX.
#pragma once
#include "functions.hpp"

// x rounded to bf16, as the upper half of a float; even or odd inputs of a layer share a word.
INLINE Int to_bf16(Float x) {
  const Int bits = bits_of(x);
  return (bits + 0x7fff + ((bits >> 16) & 1)) & (int)0xffff0000;
}
INLINE Int paired(Int even, Int odd) {
  return (odd & (int)0xffff0000) | ((even >> 16) & 0xffff);
}

// The number in the upper half of a word.
INLINE float of_upper_half(uint32_t bits) {
  float x;
  bits &= 0xffff0000;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

#if defined(__x86_64__) && defined(__linux__) && COMBRED_WIDTH == 16 && \
    !defined(COMBRED_NO_MATRIX)
#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define COMBRED_MATRIX
#endif
#endif

// Outputs of a layer, with room for those that fill the last tile; and pairs of its inputs.
template <int N>
constexpr int whole_tiles = (N + 15) / 16 * 16;
template <int N>
constexpr int whole_pairs = (N + 31) / 32 * 16;

#ifdef COMBRED_MATRIX
#include <cpuid.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ON_TILES __attribute__((noinline, target("amx-tile,amx-bf16")))
#define ON_TILES_INLINE static inline __attribute__((always_inline, target("amx-tile,amx-bf16")))

constexpr int ROW = 16;  // 32-bit words of a row of a tile, and rows

INLINE uint32_t bits_of_one(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(x));
  return bits;
}

// Nothing here is shared by two objects of a program, which may be compiled for other CPUs.
namespace {

// The weights of a layer as tiles of 16 outputs and 32 inputs; those beyond the last are 0.
template <int IN, int OUT>
struct Matrix {
  static constexpr int BLOCKS = (OUT + 15) / 16, CHUNKS = (IN + 31) / 32;
  alignas(64) uint32_t high[BLOCKS][CHUNKS][ROW][ROW], low[BLOCKS][CHUNKS][ROW][ROW];

  // Sets the weight from input i to output o.
  void set(int o, int i, float w) {
    const uint32_t upper = bits_of_one(w) + 0x8000;  // rounded
    const uint32_t rest = bits_of_one(w - of_upper_half(upper)) + 0x8000;
    const int shift = i % 2 ? 0 : 16;
    high[o / ROW][i / 2 / ROW][o % ROW][i / 2 % ROW] |= (upper & 0xffff0000) >> shift;
    low[o / ROW][i / 2 / ROW][o % ROW][i / 2 % ROW] |= (rest & 0xffff0000) >> shift;
  }
  // Sets all from a table in the order of network.hpp, in tiles of `tile` outputs: of float, or of
  // pairs of bf16 numbers.
  void set_all(const float *w, int tile) {
    for (int o = 0; o < OUT; o++) {
      const int first = o / tile * tile, outputs = OUT - first < tile ? OUT - first : tile;
      for (int i = 0; i < IN; i++) set(o, i, w[first * IN + i * outputs + o - first]);
    }
  }
  void set_all(const uint32_t *w, int tile) {
    constexpr int PAIRS = (IN + 1) / 2;
    for (int o = 0; o < OUT; o++) {
      const int first = o / tile * tile, outputs = OUT - first < tile ? OUT - first : tile;
      for (int i = 0; i < PAIRS; i++)
        high[o / ROW][i / ROW][o % ROW][i % ROW] = w[first * PAIRS + i * outputs + o - first];
    }
  }
};

}  // namespace

// Sums of up to four tiles of outputs over the chunks of inputs, in the tiles 0 to 3; `PRODUCTS`: of
// the weights' high with the inputs' high, with the inputs' low, and of low with high.
#define COMBRED_ADD_PRODUCTS(sum, block)        \
  do {                                          \
    _tile_loadd(6, w.high[o + block][c], 64);   \
    _tile_dpbf16ps(sum, 6, 4);                  \
    if constexpr (PRODUCTS > 1)                 \
      _tile_dpbf16ps(sum, 6, 5);                \
    if constexpr (PRODUCTS > 2) {               \
      _tile_loadd(7, w.low[o + block][c], 64);  \
      _tile_dpbf16ps(sum, 7, 4);                \
    }                                           \
  } while (false)
template <int BLOCKS, int PRODUCTS, typename Weights>
ON_TILES_INLINE void sums_on_tiles(const Weights &w, int o, const Int *high, const Int *low,
                                   Float *y) noexcept {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int c = 0; c < Weights::CHUNKS; c++) {
    _tile_loadd(4, high + ROW * c, 64);
    if constexpr (PRODUCTS > 1) _tile_loadd(5, low + ROW * c, 64);
    COMBRED_ADD_PRODUCTS(0, 0);
    if constexpr (BLOCKS > 1) COMBRED_ADD_PRODUCTS(1, 1);
    if constexpr (BLOCKS > 2) COMBRED_ADD_PRODUCTS(2, 2);
    if constexpr (BLOCKS > 3) COMBRED_ADD_PRODUCTS(3, 3);
  }
  _tile_stored(0, y + ROW * o, 64);
  if constexpr (BLOCKS > 1) _tile_stored(1, y + ROW * (o + 1), 64);
  if constexpr (BLOCKS > 2) _tile_stored(2, y + ROW * (o + 2), 64);
  if constexpr (BLOCKS > 3) _tile_stored(3, y + ROW * (o + 3), 64);
}
#undef COMBRED_ADD_PRODUCTS

// An input of a layer: x, or of sums x that lack the bias b and rectification.
template <bool HIDDEN>
INLINE Float input(const float *b, const Float *x, int i) {
  return HIDDEN ? at_least(x[i] + b[i], 0.0f) : x[i];
}

// The sums y of a layer of IN inputs and OUT outputs, without its bias; b: the bias of the layer
// before it, which x lacks if they are HIDDEN. y has whole_tiles<OUT>, high and low whole_pairs<IN>.
template <bool HIDDEN, int PRODUCTS, int IN, int OUT>
ON_TILES static void layer_on_tiles(const Matrix<IN, OUT> &w, const float *b, const Float *x,
                                    Float *y, Int *high, Int *low) noexcept {
  constexpr int BLOCKS = Matrix<IN, OUT>::BLOCKS;
  for (int i = 0; i < whole_pairs<IN>; i++) {
    const Float even = 2 * i < IN ? input<HIDDEN>(b, x, 2 * i) : all_of(0.0f);
    const Float odd = 2 * i + 1 < IN ? input<HIDDEN>(b, x, 2 * i + 1) : all_of(0.0f);
    if constexpr (PRODUCTS == 1) {
      high[i] = paired(to_bf16(even), to_bf16(odd));
      continue;
    }
    const Float even_rest = even - of_bits(bits_of(even) & (int)0xffff0000);
    const Float odd_rest = odd - of_bits(bits_of(odd) & (int)0xffff0000);
    high[i] = paired(bits_of(even), bits_of(odd));
    low[i] = paired(bits_of(even_rest) + 0x8000, bits_of(odd_rest) + 0x8000);
  }
  __asm__ volatile("" ::: "memory");  // what is above is written, what is below is read
  // Five blocks are three and two: a product waits for the one before it that adds to its tile.
  constexpr int REST = BLOCKS % 4 == 1 && BLOCKS > 4 ? 5 : BLOCKS % 4, FIRST = REST == 5 ? 3 : REST;
  for (int o = 0; o < BLOCKS - REST; o += 4) sums_on_tiles<4, PRODUCTS>(w, o, high, low, y);
  if constexpr (FIRST > 0) sums_on_tiles<FIRST, PRODUCTS>(w, BLOCKS - REST, high, low, y);
  if constexpr (REST == 5) sums_on_tiles<2, PRODUCTS>(w, BLOCKS - 2, high, low, y);
  __asm__ volatile("" ::: "memory");
}

// The tiles of this thread: 16 rows of 64 bytes each.
ON_TILES static void open_tiles() noexcept {
  alignas(64) struct {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shape;
  __asm__ volatile("" ::: "memory");
  _tile_loadconfig(&shape);
}
ON_TILES static void close_tiles() noexcept { _tile_release(); }

// Whether the CPU has tiles of bf16 (Intel's manual, volume 2A, CPUID: leaf 7, EDX) and Linux lets
// this process use them (arch_prctl: ARCH_REQ_XCOMP_PERM of the tiles' data). From then on Linux
// asks for alternate signal stacks of 12 kB; where the process has smaller ones, it refuses.
static bool ask_for_tiles() noexcept {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if (!(d >> 22 & 1) || !(d >> 24 & 1)) return false;
  return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

enum UseOfTiles { UNKNOWN, PREPARING, USED, UNUSED };
static int use_of_tiles = UNKNOWN;  // of the process

INLINE bool tiles_are_used() { return __atomic_load_n(&use_of_tiles, __ATOMIC_ACQUIRE) == USED; }

// The same after the first call has asked, and has set the matrices; other threads wait for it.
static bool tiles_can_be_used(void (*set_matrices)() noexcept) noexcept {
  int now = __atomic_load_n(&use_of_tiles, __ATOMIC_ACQUIRE);
  if (now == UNKNOWN && __atomic_compare_exchange_n(&use_of_tiles, &now, PREPARING, false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    now = ask_for_tiles() ? USED : UNUSED;
    if (now == USED) set_matrices();
    __atomic_store_n(&use_of_tiles, now, __ATOMIC_RELEASE);
  }
  while (now == PREPARING) {
    sched_yield();
    now = __atomic_load_n(&use_of_tiles, __ATOMIC_ACQUIRE);
  }
  return now == USED;
}
#endif
