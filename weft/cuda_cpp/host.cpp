/* The program around a learner's function that launches a kernel. `hosted.py` fills in
   what begins with a dollar sign: the cell's file, seconds, what reads the arguments,
   and the call; perhaps the program that runs the kernel alone, and when this is that.
   It writes the result and, on stderr, what was launched and how. */
#include "torch.h"
#define main weft_learners_main
#include "$file"
#undef main

#include "channel.h"

$alone
template <typename T> static T weft_read()
{
    T value;
    weft_read(&value, sizeof value);
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
    if (!weft_dry)
        weft_read(data, bytes);
    fprintf(stderr, "weft: array %s %p %zu %zu\n", name, (void *)data,
            c10::elementSize(kind), bytes / c10::elementSize(kind));
    return at::Tensor(data, kind, device, sizes, strides);
}

/* Write a tensor: type, device, sizes; then its elements, and those of the inputs,
   unless they hold no data. */
static void weft_result(const at::Tensor &given, std::vector<at::Tensor> inputs)
{
    std::vector<int64_t> head = {int64_t(given.scalar_type()),
                                 given.is_cuda() ? given.get_device() : -1, 0};
    for (const at::Tensor &input : inputs)
        head[2] |= given.defined() && input.data_ptr() == given.data_ptr();
    for (int64_t size : given.sizes())
        head.push_back(size);
    weft_give('i', 8, head.data(), head.size());
    if (weft_dry)
        return;
    at::Tensor result = given.contiguous();
    weft_give('V', result.itemsize(), result.data_ptr(), result.numel());
    for (const at::Tensor &input : inputs) {
        at::Tensor now = input.contiguous();
        weft_give('V', now.itemsize(), now.data_ptr(), now.numel());
    }
}

int main(int argc, char **argv)
{
$chosen
    size_t bytes = sizeof(weft_thread_of);
    weft_running = (weft_thread_of *)weft_open(argc, argv, $seconds, bytes);
    weft_current[0] = weft_current[1] = int(weft_read<int64_t>());
    weft_dry = weft_read<int64_t>();
    fprintf(stderr, "weft: begun\n");
$arguments
    try {
        at::Tensor result = $call;
        weft_result(result, {$tensors});
    } catch (const std::exception &error) {
        weft_log(std::string("raised ") + error.what());
    }
    weft_close();
    return 0;
}
