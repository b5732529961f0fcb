// CUB's compaction and scan behind C functions, for factors.py to call with ctypes.
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>

#include <functional>

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

// CUB's own addition, for which it has constants tuned for each GPU.
extern "C" int scan_sum(void* temp, size_t* bytes, const float* x, float* out, int n,
                        void* stream) {
    return cub::DeviceScan::InclusiveSum(temp, *bytes, x, out, n,
                                         static_cast<cudaStream_t>(stream));
}

// C++'s addition, which PyTorch passes: CUB does not recognise it.
extern "C" int scan_plus(void* temp, size_t* bytes, const float* x, float* out, int n,
                         void* stream) {
    return cub::DeviceScan::InclusiveScan(temp, *bytes, x, out, std::plus<float>{}, n,
                                          static_cast<cudaStream_t>(stream));
}
