// CUB's compaction behind a C function, for factors.py to call with ctypes.
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>

struct Positive {
    __device__ bool operator()(float value) const { return value > 0; }
};

extern "C" int version() { return CUB_VERSION; }  // 300102: 3.1.2

// With temp = nullptr, only writes how many bytes of temporary memory are needed.
extern "C" int select_positive(void* temp, size_t* bytes, const float* x, float* out,
                               int* count, int n, void* stream) {
    return cub::DeviceSelect::If(temp, *bytes, x, out, count, n, Positive{},
                                 static_cast<cudaStream_t>(stream));
}

// The same with a mask that is given, one byte per element, as torch.masked_select.
extern "C" int select_flagged(void* temp, size_t* bytes, const float* x,
                              const char* mask, float* out, int* count, int n,
                              void* stream) {
    return cub::DeviceSelect::Flagged(temp, *bytes, x, mask, out, count, n,
                                      static_cast<cudaStream_t>(stream));
}
