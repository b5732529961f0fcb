"""The kernels of chapter 18 that are measured, but that no exercise asks for."""

from numba import cuda, float32, uint32

CUDA_CPP = """
extern "C" __global__
void direct(float alpha, const float* a, const float* b, float beta, float* c,
            int m, int n, int k)
{
    int row = blockIdx.y * 8 + threadIdx.x / 32;
    int col = blockIdx.x * 32 + threadIdx.x % 32;

    if (row < m && col < n) {
        float total = 0;
        for (int i = 0; i < k; ++i)
            total += a[row * k + i] * b[i * n + col];

        total *= alpha;
        if (beta != 0)
            total += beta * c[row * n + col];
        c[row * n + col] = total;
    }
}

extern "C" __global__
void tiled(float alpha, const float* a, const float* b, float beta, float* c,
           int m, int n, int k)
{
    __shared__ float ta[32][32], tb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float total = 0;

    for (int start = 0; start < k; start += 32) {
        int i = start + tx, j = start + ty;
        ta[ty][tx] = row < m && i < k ? a[row * k + i] : 0.0f;
        tb[ty][tx] = j < k && col < n ? b[j * n + col] : 0.0f;
        __syncthreads();

        for (int l = 0; l < 32; ++l)
            total += ta[ty][l] * tb[l][tx];
        __syncthreads();
    }

    if (row < m && col < n) {
        total *= alpha;
        if (beta != 0)
            total += beta * c[row * n + col];
        c[row * n + col] = total;
    }
}
"""
TILE = 16


@cuda.jit
def gemm_unsigned(alpha, a, b, beta, c):
    """gemm_coalesced, with indices that cannot be negative."""
    warp, lane = divmod(cuda.threadIdx.x, 32)
    r = uint32(8 * cuda.blockIdx.y + warp)
    q = uint32(32 * cuda.blockIdx.x + lane)
    k = uint32(a.shape[1])

    if r < c.shape[0] and q < c.shape[1]:
        acc, i = float32(0), uint32(0)
        while i < k:
            acc += a[r, i] * b[i, q]
            i += uint32(1)

        acc *= alpha
        if beta != 0:
            acc += beta * c[r, q]
        c[r, q] = acc


@cuda.jit
def gemm_two_rounds(alpha, a, b, beta, c):
    """gemm_unsigned, but for the last lines."""
    warp, lane = divmod(cuda.threadIdx.x, 32)
    r = uint32(8 * cuda.blockIdx.y + warp)
    q = uint32(32 * cuda.blockIdx.x + lane)
    k = uint32(a.shape[1])

    if r < c.shape[0] and q < c.shape[1]:
        acc, i = float32(0), uint32(0)
        while i < k:
            acc += a[r, i] * b[i, q]
            i += uint32(1)

        old = beta * c[r, q] if beta != 0 else float32(0)
        c[r, q] = alpha * acc + old
