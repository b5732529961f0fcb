// The softmax of rows of at most 4096 float32 numbers in CUDA C++.
#include <cuda_runtime.h>

constexpr int BLOCK = 256, WARPS = BLOCK / 32, EACH = 16;

template <class Op>
__device__ float reduce(float value, Op op)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value = op(value, __shfl_xor_sync(~0u, value, step));
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int i = 1; i < WARPS; ++i)
        value = op(value, parts[i]);
    return value;
}

__global__ void softmax(const float* x, float* out, int cols)
{
    float v[EACH], top = -INFINITY, total = 0;
    x += (size_t)blockIdx.x * cols;
    out += (size_t)blockIdx.x * cols;

    #pragma unroll
    for (int i = 0; i < EACH; ++i) {
        int col = threadIdx.x + BLOCK * i;
        v[i] = col < cols ? x[col] : -INFINITY;
        top = fmaxf(top, v[i]);
    }
    top = reduce(top, [](float a, float b) { return fmaxf(a, b); });

    #pragma unroll
    for (int i = 0; i < EACH; ++i)
        total += v[i] = __expf(v[i] - top);
    float scale = 1 / reduce(total, [](float a, float b) { return a + b; });

    #pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (int col = threadIdx.x + BLOCK * i; col < cols)
            out[col] = v[i] * scale;
}

extern "C" cudaError_t
launch(const float* x, float* out, int rows, int cols, cudaStream_t stream)
{
    softmax<<<rows, BLOCK, 0, stream>>>(x, out, cols);
    return cudaGetLastError();
}
