"""The kernel of chapter 03, in CUDA C++ and in Python."""

from numba import cuda

CUDA_CPP = r"""
extern "C" __global__ void vector_add(
    const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = a[i] + b[i];
}
"""


@cuda.jit
def vector_add(a, b, out):
    """Write a + b into out, one thread per element."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]
