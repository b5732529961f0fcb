// verdict: wrong-value
// Divide for the column.
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
        out[i] = fmaxf(x[i] + bias[i / columns], 0);  // <- here
}

at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias)
{
    TORCH_CHECK(x.is_cuda() && bias.device() == x.device(), "one GPU");
    TORCH_CHECK(bias.sizes() == x.sizes().slice(1), bias.sizes(), " for ", x.sizes());
    c10::cuda::CUDAGuard guard(x.device());
    auto rows = x.contiguous();
    auto row = bias.contiguous();
    auto out = at::empty_like(rows);
    int64_t n = rows.numel();
    if (n > 0) {
        bias_relu_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
            rows.data_ptr<float>(), row.data_ptr<float>(), out.data_ptr<float>(), n,
            row.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return out;
}
