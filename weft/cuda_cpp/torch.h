/* As much of PyTorch's C++ interface as a function needs that launches a kernel, for a
   compiler that knows C++ alone. A tensor's memory is the CPU's, with a guard on both
   sides; its device is what the caller says. `hosted.py` turns `f<<<b, t>>>(x)` into
   `weft_launch(line, b, t).of(f)(x)`, which runs the threads one after another. */
#ifndef WEFT_TORCH
#define WEFT_TORCH

#include "prelude.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <vector>

extern "C" void __asan_poison_memory_region(void const volatile *, size_t);

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct weft_stream {
    int device, number; /* 0: the default stream of its device */
};
typedef const weft_stream *cudaStream_t;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };

/* What the program around the function knows: see host.cpp. */
static int weft_device = 0;
static weft_stream weft_streams[2][2] = {{{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}};
static int weft_current[2] = {0, 0}; /* the current stream of each device */
static cudaError_t weft_error = cudaSuccess;
static bool weft_dry = false; /* whether arrays hold no data, and no thread runs */

static void weft_log(const std::string &what)
{
    fprintf(stderr, "weft: %s\n", what.c_str());
}

static cudaError_t cudaPeekAtLastError() { return weft_error; }

static cudaError_t cudaGetLastError()
{
    cudaError_t last = weft_error;
    weft_error = cudaSuccess;
    weft_log("checked");
    return last;
}

static const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaSuccess ? "no error" : "invalid configuration argument";
}

static cudaError_t cudaDeviceSynchronize()
{
    weft_log("waited");
    return weft_error;
}

static cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }

struct weft_thread_of {
    unsigned block, thread;
};
static volatile weft_thread_of *weft_running; /* which thread runs, for the verdict */

namespace c10 {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename... Parts>
std::string weft_joined(const Parts &...parts)
{
    std::ostringstream out;
    (void)std::initializer_list<int>{0, ((void)(out << parts), 0)...};
    return out.str();
}

[[noreturn]] inline void weft_refuse(int line, const char *condition,
                                     const std::string &message)
{
    weft_log("refused " + std::to_string(line));
    std::string plain = std::string("Expected ") + condition;
    throw Error(message.empty() ? plain + " to be true, but got false." : message);
}

enum class DeviceType : signed char { CPU = 0, CUDA = 1 };
using DeviceIndex = signed char;

struct Device {
    DeviceType kind;
    DeviceIndex number;
    Device(DeviceType kind, DeviceIndex number = -1) : kind(kind), number(number) {}
    DeviceType type() const { return kind; }
    DeviceIndex index() const { return number; }
    bool is_cuda() const { return kind == DeviceType::CUDA; }
    bool is_cpu() const { return kind == DeviceType::CPU; }
    bool operator==(const Device &other) const
    {
        return kind == other.kind && number == other.number;
    }
    bool operator!=(const Device &other) const { return !(*this == other); }
    std::string str() const
    {
        return is_cpu() ? "cpu" : "cuda:" + std::to_string(int(number));
    }
};

inline std::ostream &operator<<(std::ostream &out, const Device &device)
{
    return out << device.str();
}

enum class ScalarType : signed char { Int = 3, Long = 4, Half = 5, Float = 6, Double = 7 };

inline const char *toString(ScalarType kind)
{
    switch (kind) {
    case ScalarType::Int: return "Int";
    case ScalarType::Long: return "Long";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    default: return "Double";
    }
}

inline std::ostream &operator<<(std::ostream &out, ScalarType kind)
{
    return out << toString(kind);
}

inline size_t elementSize(ScalarType kind)
{
    if (kind == ScalarType::Half)
        return 2;
    return kind == ScalarType::Int || kind == ScalarType::Float ? 4 : 8;
}

template <typename T> struct weft_kind;
template <> struct weft_kind<int> { static const ScalarType is = ScalarType::Int; };
template <> struct weft_kind<int64_t> { static const ScalarType is = ScalarType::Long; };
template <> struct weft_kind<float> { static const ScalarType is = ScalarType::Float; };
template <> struct weft_kind<double> { static const ScalarType is = ScalarType::Double; };

struct IntArrayRef {
    std::vector<int64_t> held;
    IntArrayRef(std::vector<int64_t> held) : held(std::move(held)) {}
    IntArrayRef(std::initializer_list<int64_t> held) : held(held) {}
    IntArrayRef(int64_t one) : held{one} {}
    size_t size() const { return held.size(); }
    bool empty() const { return held.empty(); }
    int64_t operator[](size_t k) const { return held.at(k); }
    int64_t back() const { return held.back(); }
    int64_t front() const { return held.front(); }
    const int64_t *begin() const { return held.data(); }
    const int64_t *end() const { return held.data() + held.size(); }
    const int64_t *data() const { return held.data(); }
    IntArrayRef slice(size_t from) const
    {
        return std::vector<int64_t>(held.begin() + std::min(from, size()), held.end());
    }
    std::vector<int64_t> vec() const { return held; }
    bool equals(const IntArrayRef &other) const { return held == other.held; }
    bool operator==(const IntArrayRef &other) const { return held == other.held; }
    bool operator!=(const IntArrayRef &other) const { return held != other.held; }
};

inline std::ostream &operator<<(std::ostream &out, const IntArrayRef &sizes)
{
    out << "[";
    for (size_t k = 0; k < sizes.size(); k++)
        out << (k ? ", " : "") << sizes[k];
    return out << "]";
}

namespace cuda {

struct CUDAStream {
    cudaStream_t held;
    operator cudaStream_t() const { return held; }
    cudaStream_t stream() const { return held; }
    DeviceIndex device_index() const { return DeviceIndex(held->device); }
    void synchronize() const { cudaStreamSynchronize(held); }
};

inline CUDAStream weft_stream_of(int device, int number)
{
    return {&weft_streams[device < 0 ? weft_device : device][number]};
}

inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1)
{
    return weft_stream_of(device, weft_current[device < 0 ? weft_device : device]);
}

inline CUDAStream getDefaultCUDAStream(DeviceIndex device = -1)
{
    return weft_stream_of(device, 0);
}

inline DeviceIndex current_device() { return DeviceIndex(weft_device); }

struct CUDAGuard {
    int before;
    explicit CUDAGuard(Device device) : before(weft_device)
    {
        if (!device.is_cuda())
            throw Error(weft_joined("Expected a CUDA device, but got ", device));
        weft_device = device.index();
    }
    explicit CUDAGuard(DeviceIndex index) : before(weft_device) { weft_device = index; }
    CUDAGuard(const CUDAGuard &) = delete;
    ~CUDAGuard() { weft_device = before; }
};

} // namespace cuda

struct DeviceGuard { /* does nothing for a tensor in the host's memory */
    int before;
    explicit DeviceGuard(Device device) : before(weft_device)
    {
        if (device.is_cuda())
            weft_device = device.index();
    }
    DeviceGuard(const DeviceGuard &) = delete;
    ~DeviceGuard() { weft_device = before; }
};

namespace cuda {
using OptionalCUDAGuard = DeviceGuard;
}

} // namespace c10

namespace at {

using c10::Device;
using c10::DeviceGuard;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::IntArrayRef;
using c10::ScalarType;

static const ScalarType kInt = ScalarType::Int, kLong = ScalarType::Long;
static const ScalarType kHalf = ScalarType::Half, kFloat = ScalarType::Float;
static const ScalarType kDouble = ScalarType::Double;
static const DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

struct TensorOptions {
    ScalarType kind;
    Device where;
    TensorOptions(ScalarType kind = kFloat, Device where = Device(kCPU))
        : kind(kind), where(where)
    {
    }
    TensorOptions dtype(ScalarType other) const { return {other, where}; }
    TensorOptions device(Device other) const { return {kind, other}; }
};

static const size_t weft_guard = 1 << 20; /* bytes that nothing may touch */

struct weft_memory {
    char *data;
    size_t bytes;
    Device device;
    std::string name;
};
static std::vector<weft_memory> weft_memories;

inline char *weft_allocated(size_t bytes, Device device, const std::string &name)
{
    size_t held = (bytes + 15) / 16 * 16;
    char *all = (char *)mmap(nullptr, held + 2 * weft_guard, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        _Exit(96);
    char *data = all + weft_guard;
    memset(data, 0xff, bytes); /* NaN: nothing has been written yet */
    __asan_poison_memory_region(all, weft_guard);
    __asan_poison_memory_region(data + bytes, held - bytes + weft_guard);
    weft_memories.push_back({data, bytes, device, name});
    return data;
}

class Tensor {
  public:
    Tensor() = default;
    Tensor(char *data, ScalarType kind, Device device, std::vector<int64_t> sizes,
           std::vector<int64_t> strides)
        : held(std::make_shared<Held>(Held{data, kind, device, sizes, strides}))
    {
    }

    bool defined() const { return bool(held); }
    int64_t dim() const { return int64_t(of().sizes.size()); }
    int64_t ndimension() const { return dim(); }
    IntArrayRef sizes() const { return of().sizes; }
    IntArrayRef strides() const { return of().strides; }
    int64_t size(int64_t k) const { return of().sizes.at(wrapped(k)); }
    int64_t stride(int64_t k) const { return of().strides.at(wrapped(k)); }
    int64_t numel() const
    {
        int64_t n = 1;
        for (int64_t size : of().sizes)
            n *= size;
        return n;
    }
    size_t itemsize() const { return elementSize(of().kind); }
    size_t element_size() const { return itemsize(); }
    size_t nbytes() const { return itemsize() * numel(); }
    ScalarType scalar_type() const { return of().kind; }
    ScalarType dtype() const { return of().kind; }
    Device device() const { return of().device; }
    DeviceIndex get_device() const { return of().device.index(); }
    bool is_cuda() const { return of().device.is_cuda(); }
    bool is_cpu() const { return of().device.is_cpu(); }
    bool is_floating_point() const { return of().kind >= kHalf; }
    TensorOptions options() const { return {of().kind, of().device}; }
    bool is_same(const Tensor &other) const { return held == other.held; }

    bool is_contiguous() const
    {
        int64_t expected = 1;
        for (int64_t k = dim(); k-- > 0;) {
            if (size(k) != 1 && stride(k) != expected)
                return numel() == 0;
            expected *= size(k);
        }
        return true;
    }

    Tensor contiguous() const { return is_contiguous() ? *this : copied(of().kind); }
    Tensor clone() const { return copied(of().kind); }
    Tensor detach() const { return *this; }
    Tensor to(ScalarType kind) const { return kind == of().kind ? *this : copied(kind); }

    void *data_ptr() const { return of().data; }
    const void *const_data_ptr() const { return of().data; }
    void *mutable_data_ptr() const { return of().data; }
    template <typename T> T *data_ptr() const { return typed<T>(); }
    template <typename T> T *mutable_data_ptr() const { return typed<T>(); }
    template <typename T> const T *const_data_ptr() const { return typed<T>(); }

    /* A tensor without gaps, row after row; named as verdicts are to name it. */
    static Tensor weft_made(std::vector<int64_t> sizes, TensorOptions options,
                            const char *name = "result")
    {
        std::vector<int64_t> strides(sizes.size());
        int64_t n = 1;
        for (size_t k = sizes.size(); k-- > 0;) {
            strides[k] = n;
            n *= sizes[k] > 1 ? sizes[k] : 1;
        }
        n = 1;
        for (int64_t size : sizes)
            n *= size;
        Device device = options.where;
        if (device.is_cuda() && device.index() < 0)
            device.number = DeviceIndex(weft_device);
        size_t bytes = elementSize(options.kind) * n;
        char *data = weft_allocated(bytes, device, name);
        weft_log(c10::weft_joined("array ", name, " ", (void *)data, " ",
                                  elementSize(options.kind), " ", n));
        return Tensor(data, options.kind, device, sizes, strides);
    }

    /* Whether the elements fill their memory without gaps or overlaps. */
    bool weft_dense() const
    {
        std::vector<bool> seen(of().sizes.size(), false);
        int64_t expected = 1;
        for (int64_t round = 0; round < dim(); round++) {
            int64_t next = -1;
            for (int64_t k = 0; k < dim(); k++)
                if (!seen[k] && (next < 0 || stride(k) <= stride(next)))
                    next = k;
            seen[next] = true;
            if (size(next) != 1 && stride(next) != expected)
                return false;
            expected *= size(next);
        }
        return true;
    }

    Tensor weft_like(TensorOptions options) const
    {
        Tensor made = weft_made(of().sizes, options);
        if (weft_dense())
            made.held->strides = of().strides;
        return made;
    }

  private:
    struct Held {
        char *data;
        ScalarType kind;
        Device device;
        std::vector<int64_t> sizes, strides;
    };
    std::shared_ptr<Held> held;

    const Held &of() const
    {
        if (!held)
            throw c10::Error("tensor does not have a device: it is undefined");
        return *held;
    }

    int64_t wrapped(int64_t k) const
    {
        if (k < -dim() || k >= dim())
            throw c10::Error(c10::weft_joined("Dimension out of range (got ", k, ")"));
        return k < 0 ? k + dim() : k;
    }

    template <typename T> T *typed() const
    {
        ScalarType wanted = c10::weft_kind<T>::is;
        if (of().kind != wanted)
            throw c10::Error(c10::weft_joined("expected scalar type ", wanted,
                                              " but found ", of().kind));
        return reinterpret_cast<T *>(of().data);
    }

    double element(size_t at) const
    {
        const char *there = of().data + at * itemsize();
        switch (of().kind) {
        case ScalarType::Int: return *(const int *)there;
        case ScalarType::Long: return double(*(const int64_t *)there);
        case ScalarType::Float: return *(const float *)there;
        case ScalarType::Double: return *(const double *)there;
        default: _Exit(95);
        }
    }

    Tensor copied(ScalarType kind) const
    {
        Tensor out = weft_made(of().sizes, {kind, of().device}, "copy");
        std::vector<int64_t> index(of().sizes.size(), 0);
        for (int64_t n = 0; n < numel(); n++) {
            int64_t at = 0, rest = n;
            for (int64_t k = dim(); k-- > 0; rest /= size(k))
                at += rest % size(k) * stride(k);
            double value = element(at);
            char *there = out.of().data + n * out.itemsize();
            switch (kind) {
            case ScalarType::Int: *(int *)there = int(value); break;
            case ScalarType::Long: *(int64_t *)there = int64_t(value); break;
            case ScalarType::Float: *(float *)there = float(value); break;
            case ScalarType::Double: *(double *)there = value; break;
            default: _Exit(95);
            }
        }
        return out;
    }
};

inline Tensor empty_like(const Tensor &x) { return x.weft_like(x.options()); }
inline Tensor empty_like(const Tensor &x, TensorOptions options)
{
    return x.weft_like(options);
}
inline Tensor empty(IntArrayRef sizes, TensorOptions options = {})
{
    return Tensor::weft_made(sizes.vec(), options);
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {})
{
    Tensor made = empty(sizes, options);
    memset(made.data_ptr(), 0, made.nbytes());
    return made;
}
inline Tensor zeros_like(const Tensor &x)
{
    Tensor made = empty_like(x);
    memset(made.data_ptr(), 0, made.nbytes());
    return made;
}
inline Device device_of(const Tensor &x) { return x.device(); }

namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;
} // namespace cuda

} // namespace at

namespace torch {
using namespace at;
static const ScalarType kFloat32 = at::kFloat, kFloat64 = at::kDouble;
static const ScalarType kInt32 = at::kInt, kInt64 = at::kLong;
} // namespace torch

#define TORCH_CHECK(condition, ...)                                                    \
    do {                                                                               \
        if (!(condition))                                                              \
            c10::weft_refuse(__LINE__, #condition,                                     \
                             c10::weft_joined("" __VA_OPT__(, ) __VA_ARGS__));         \
    } while (false)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define C10_CUDA_CHECK(expression)                                                     \
    do {                                                                               \
        cudaError_t weft_found = (expression);                                         \
        TORCH_CHECK(weft_found == cudaSuccess, "CUDA error: ",                         \
                    cudaGetErrorString(weft_found));                                   \
    } while (false)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

#define AT_DISPATCH_FLOATING_TYPES(kind, name, ...)                                    \
    [&] {                                                                              \
        switch (kind) {                                                                \
        case c10::ScalarType::Float: { using scalar_t = float; return __VA_ARGS__(); } \
        case c10::ScalarType::Double: {                                                \
            using scalar_t = double;                                                   \
            return __VA_ARGS__();                                                      \
        }                                                                              \
        default:                                                                       \
            throw c10::Error(c10::weft_joined(name, " not implemented for '", kind,    \
                                              "'"));                                   \
        }                                                                              \
    }()

namespace torch {
struct Library { /* registers nothing: the check calls the function itself */
    template <typename... T> Library &def(const T &...) { return *this; }
    template <typename... T> Library &impl(const T &...) { return *this; }
};
} // namespace torch
#define TORCH_LIBRARY(name, m) void weft_library_##name(torch::Library &m)
#define TORCH_LIBRARY_IMPL(name, key, m) void weft_##key##_##name(torch::Library &m)

/* A launch */

inline void weft_placed(unsigned rank, const uint3 &size, uint3 &index)
{
    index = {rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
}

struct weft_launch {
    int line;
    dim3 grid, block;
    cudaStream_t stream;

    weft_launch(int line, dim3 grid, dim3 block, size_t = 0, cudaStream_t stream = nullptr)
        : line(line), grid(grid), block(block),
          stream(stream ? stream : &weft_streams[weft_device][0])
    {
    }

    template <typename T> bool reaches(const T &argument) const
    {
        if constexpr (std::is_pointer<T>::value)
            return leads_here((const char *)argument);
        return true;
    }

    bool leads_here(const char *there) const
    {
        for (const at::weft_memory &memory : at::weft_memories) {
            if (there < memory.data || there >= memory.data + memory.bytes)
                continue;
            if (memory.device == c10::Device(c10::DeviceType::CUDA, weft_device))
                return true;
            weft_log(c10::weft_joined("stray ", line, " ", memory.device, " ",
                                      weft_device, " ", memory.name));
            return false;
        }
        return true; /* no array: the threads will show what it is */
    }

    template <typename... P> struct Kernel {
        const weft_launch &launch;
        void (*kernel)(P...);
        void operator()(P... arguments) const
        {
            const dim3 &grid = launch.grid, &block = launch.block;
            double threads = double(block.x) * block.y * block.z;
            bool fits = grid.x && grid.y && grid.z && threads > 0 && threads <= 1024;
            fits = fits && grid.x <= INT_MAX && grid.y < 65536 && grid.z < 65536;
            weft_log(c10::weft_joined("launch ", launch.line, " ", grid.x, " ", grid.y,
                                      " ", grid.z, " ", block.x, " ", block.y, " ",
                                      block.z, " ", launch.stream->device, " ",
                                      launch.stream->number, " ", weft_device, " ",
                                      fits));
            if (!fits) {
                weft_error = cudaErrorInvalidConfiguration;
                return;
            }
            for (bool there : {true, launch.reaches(arguments)...})
                if (!there)
                    _Exit(94);
            if (weft_dry)
                return;
            weft_grid_size = {grid.x, grid.y, grid.z};
            weft_block_size = {block.x, block.y, block.z};
            unsigned blocks = grid.x * grid.y * grid.z;
            for (unsigned b = blocks; b-- > 0;)
                for (unsigned t = 0; t < unsigned(threads); t++) {
                    weft_placed(b, weft_grid_size, weft_block);
                    weft_placed(t, weft_block_size, weft_thread);
                    if (weft_running) {
                        weft_running->block = b;
                        weft_running->thread = t;
                    }
                    kernel(arguments...);
                }
        }
    };
    template <typename... P> Kernel<P...> of(void (*kernel)(P...)) const
    {
        return {*this, kernel};
    }
};

#endif
