// CUB's sum of float32 numbers, for record.py to call.
#include <cub/device/device_reduce.cuh>

extern "C" cudaError_t launch(const float* x, float* out, int n, cudaStream_t stream)
{
    static void* temp = nullptr;
    static size_t bytes = 0;
    if (!temp) {
        cub::DeviceReduce::Sum(nullptr, bytes, x, out, n, stream);
        cudaMalloc(&temp, bytes);
    }
    return cub::DeviceReduce::Sum(temp, bytes, x, out, n, stream);
}
