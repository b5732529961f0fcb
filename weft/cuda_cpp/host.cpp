/* The program around a learner's function that launches a kernel. `hosted.py` fills in
   what begins with a dollar sign: the cell's file, seconds, what reads the arguments,
   and the call. It writes the result and, on stderr, what was launched and how. */
#include "torch.h"
#define main weft_learners_main
#include "$file"
#undef main

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

extern "C" void __sanitizer_print_stack_trace(void);
extern "C" void __lsan_disable(void) __attribute__((weak));

static FILE *weft_in, *weft_out;

static void weft_late(int)
{
    static const char said[] = "weft: out of time\n";
    if (write(2, said, sizeof said - 1) > 0)
        __sanitizer_print_stack_trace();
    _exit(99);
}

template <typename T> static T weft_read()
{
    T value;
    if (fread(&value, sizeof value, 1, weft_in) != 1)
        _exit(98);
    return value;
}

static std::vector<int64_t> weft_numbers(size_t count)
{
    std::vector<int64_t> found;
    for (size_t k = 0; k < count; k++)
        found.push_back(weft_read<int64_t>());
    return found;
}

/* Read a tensor: type, device (-1: the host's), sizes, strides, elements in memory. */
static at::Tensor weft_tensor(const char *name)
{
    auto kind = c10::ScalarType(weft_read<int64_t>());
    int64_t index = weft_read<int64_t>(), axes = weft_read<int64_t>();
    auto sizes = weft_numbers(axes), strides = weft_numbers(axes);
    size_t bytes = c10::elementSize(kind) * weft_read<int64_t>();
    c10::Device device(index < 0 ? c10::DeviceType::CPU : c10::DeviceType::CUDA,
                       c10::DeviceIndex(index));
    char *data = at::weft_allocated(bytes, device, name);
    if (bytes && fread(data, 1, bytes, weft_in) != bytes)
        _exit(98);
    fprintf(stderr, "weft: array %s %p %zu %zu\n", name, (void *)data,
            c10::elementSize(kind), bytes / c10::elementSize(kind));
    return at::Tensor(data, kind, device, sizes, strides);
}

static void weft_give(char kind, size_t size, const void *p, size_t count)
{
    unsigned long long head[2] = {size, count};
    fwrite(&kind, 1, 1, weft_out);
    fwrite(head, sizeof head, 1, weft_out);
    if (count)
        fwrite(p, size, count, weft_out);
    fflush(weft_out);
}

/* Write a tensor: type, device, sizes; then its elements, and those of the inputs. */
static void weft_result(const at::Tensor &given, std::vector<at::Tensor> inputs)
{
    std::vector<int64_t> head = {int64_t(given.scalar_type()),
                                 given.is_cuda() ? given.get_device() : -1, 0};
    for (const at::Tensor &input : inputs)
        head[2] |= given.defined() && input.data_ptr() == given.data_ptr();
    for (int64_t size : given.sizes())
        head.push_back(size);
    weft_give('i', 8, head.data(), head.size());
    at::Tensor result = given.contiguous();
    weft_give('V', result.itemsize(), result.data_ptr(), result.numel());
    for (const at::Tensor &input : inputs) {
        at::Tensor now = input.contiguous();
        weft_give('V', now.itemsize(), now.data_ptr(), now.numel());
    }
}

int main(int argc, char **argv)
{
    struct rlimit cpu = {$seconds, $seconds + 2}, size = {1 << 24, 1 << 24};
    signal(SIGXCPU, weft_late);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &size);
    if (__lsan_disable)
        __lsan_disable();
    if (argc != 3)
        return 97;
    weft_in = fopen(argv[1], "rb");
    weft_out = fopen(argv[2], "wb");
    int file = open("where", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(weft_thread_of)) != 0)
        return 97;
    weft_running = (weft_thread_of *)mmap(nullptr, sizeof(weft_thread_of),
                                          PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    weft_current[0] = weft_current[1] = int(weft_read<int64_t>());
    fprintf(stderr, "weft: begun\n");
$arguments
    try {
        at::Tensor result = $call;
        weft_result(result, {$tensors});
    } catch (const std::exception &error) {
        weft_log(std::string("raised ") + error.what());
    }
    weft_give('e', 1, "", 0);
    fclose(weft_in);
    fclose(weft_out);
    return 0;
}
