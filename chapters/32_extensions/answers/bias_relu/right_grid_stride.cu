// verdict: pass
// A grid-stride loop, a helper for the checks, and the error asked for by hand.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

__device__ float relu(float value)
{
    return value > 0 ? value : 0.0f;
}

__global__ void bias_relu_kernel(const float *x, const float *bias, float *out,
                                 int64_t n, int64_t columns)
{
    int64_t step = int64_t(gridDim.x) * blockDim.x;

    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n; i += step)
        out[i] = relu(x[i] + bias[i % columns]);
}

static void checked(const at::Tensor &each, const at::Tensor &other, int64_t axes)
{
    TORCH_CHECK(each.is_cuda(), "a tensor is on ", each.device());
    TORCH_CHECK(each.get_device() == other.get_device(), "two GPUs");
    TORCH_CHECK(each.dtype() == at::kFloat, "a tensor is ", each.dtype());
    TORCH_CHECK(each.dim() == axes, "a tensor has ", each.dim(), " axes");
}

at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias)
{
    checked(x, bias, 2);
    checked(bias, x, 1);
    TORCH_CHECK(bias.numel() == x.size(-1), "a bias of ", bias.numel());
    const c10::cuda::OptionalCUDAGuard guard(at::device_of(x));
    at::Tensor given = x.contiguous();
    at::Tensor biases = bias.contiguous();
    at::Tensor out = at::empty_like(given);
    if (out.numel() == 0)
        return out;
    const int threads = 128;
    const int blocks = std::min<int64_t>((out.numel() + threads - 1) / threads, 1024);
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    bias_relu_kernel<<<blocks, threads, 0, stream>>>(
        given.const_data_ptr<float>(), biases.const_data_ptr<float>(),
        out.mutable_data_ptr<float>(), given.numel(), biases.numel());
    C10_CUDA_CHECK(cudaGetLastError());
    return out;
}
