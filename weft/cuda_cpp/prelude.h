/* What CUDA adds to C++, for a compiler that knows C++ alone. The threads of a launch
   run one after another, so memory that they share, and barriers, are not here. */
#ifndef WEFT_PRELUDE
#define WEFT_PRELUDE

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};

static uint3 weft_thread, weft_block, weft_block_size, weft_grid_size;
static const uint3 &threadIdx = weft_thread, &blockIdx = weft_block;
static const uint3 &blockDim = weft_block_size, &gridDim = weft_grid_size;
static const int warpSize = 32;

/* CUDA's own overloads, so a call that nvcc finds ambiguous, such as `max(x[i], 0)`, is
   ambiguous here. */
#define WEFT_MIN_MAX(result, A, B)                                                     \
    static inline result min(const A a, const B b) { return b < a ? b : a; }           \
    static inline result max(const A a, const B b) { return a < b ? b : a; }
#define WEFT_MIN_MAX_OF_INTEGERS(type)                                                 \
    WEFT_MIN_MAX(type, type, type)                                                     \
    WEFT_MIN_MAX(unsigned type, unsigned type, unsigned type)                          \
    WEFT_MIN_MAX(unsigned type, type, unsigned type)                                   \
    WEFT_MIN_MAX(unsigned type, unsigned type, type)

WEFT_MIN_MAX_OF_INTEGERS(int)
WEFT_MIN_MAX_OF_INTEGERS(long)
WEFT_MIN_MAX_OF_INTEGERS(long long)
WEFT_MIN_MAX(float, float, float)
WEFT_MIN_MAX(double, double, double)
WEFT_MIN_MAX(double, float, double)
WEFT_MIN_MAX(double, double, float)

#endif
