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

template <typename A, typename B>
inline typename std::common_type<A, B>::type min(A a, B b)
{
    return b < a ? b : a;
}

template <typename A, typename B>
inline typename std::common_type<A, B>::type max(A a, B b)
{
    return a < b ? b : a;
}

#endif
