// verdict: unwritten
// A grid of at most 1024 blocks, as in a grid-stride loop.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

__global__ void bias_relu_kernel(const float *x, const float *bias, float *out,
                                 int64_t n, int64_t columns)
{
    int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;

    if (i < n)
        out[i] = fmaxf(x[i] + bias[i % columns], 0);
}

at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias)
{
    TORCH_CHECK(x.is_cuda(), "x is not on a GPU");
    TORCH_CHECK(bias.device() == x.device(), "two devices");
    TORCH_CHECK(x.scalar_type() == at::kFloat && bias.scalar_type() == at::kFloat);
    TORCH_CHECK(x.dim() == 2 && bias.dim() == 1);
    TORCH_CHECK(bias.size(0) == x.size(1), "not as long as a row");
    c10::cuda::CUDAGuard guard(x.device());
    auto rows = x.contiguous();
    auto row = bias.contiguous();
    auto out = at::empty_like(rows);
    int64_t n = rows.numel();
    if (n > 0) {
        const int64_t blocks = std::min<int64_t>((n + 255) / 256, 1024);
        bias_relu_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(  // <- here
            rows.data_ptr<float>(), row.data_ptr<float>(), out.data_ptr<float>(), n,
            row.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return out;
}
