"""The kernels that the measurements of chapter 6 time."""

import numpy as np
from numba import cuda, float32, int32, uint32

RED, GREEN, BLUE = np.array([0.299, 0.587, 0.114], np.float32)

CUDA_CPP = """
__device__ float at(const float* x, int rows, int cols, int row, int col)
{
    row = min(max(row, 0), rows - 1);
    col = min(max(col, 0), cols - 1);
    return x[row * cols + col];
}

extern "C" __global__
void blur(const float* x, float* out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < rows && col < cols) {
        float total = 0;
        for (int i = -1; i <= 1; ++i)
            for (int j = -1; j <= 1; ++j)
                total += at(x, rows, cols, row + i, col + j);
        out[row * cols + col] = total / 9;
    }
}

extern "C" __global__
void matmul(const float* a, const float* b, float* out, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < m && col < n) {
        float total = 0;
        for (int i = 0; i < k; ++i)
            total += a[row * k + i] * b[i * n + col];
        out[row * n + col] = total;
    }
}
"""


@cuda.jit
def halve_x_is_col(x, out):
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = float32(0.5) * x[row, col]


@cuda.jit
def halve_x_is_row(x, out):
    row, col = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = float32(0.5) * x[row, col]


@cuda.jit
def grey_planar(x, out):
    """Do what grey does, for a planar picture, (3, rows, cols)."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        value = RED * x[0, row, col] + GREEN * x[1, row, col]
        out[row, col] = value + BLUE * x[2, row, col]


@cuda.jit
def blur_written_out(x, out):
    """Do what blur does, without a device function."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        bottom, right = x.shape[0] - 1, x.shape[1] - 1
        mean = float32(0)
        for dy in range(-1, 2):
            y = min(max(row + dy, 0), bottom)
            for dx in range(-1, 2):
                mean += x[y, min(max(col + dx, 0), right)]
        mean /= float32(9)
        out[row, col] = mean


@cuda.jit(device=True)
def at32(x, row, col):
    """Return x[row, col], clamped; both int32."""
    row = min(max(row, int32(0)), int32(x.shape[0]) - int32(1))
    col = min(max(col, int32(0)), int32(x.shape[1]) - int32(1))
    return x[row, col]


@cuda.jit(device=True)
def at_unsigned(x, row, col):
    """Return x[row, col], clamped; no index can be negative."""
    row = min(max(row, int32(0)), int32(x.shape[0]) - int32(1))
    col = min(max(col, int32(0)), int32(x.shape[1]) - int32(1))
    return x[uint32(row), uint32(col)]


def blur_with(at):
    """Return blur with 32-bit indices and another `at`."""

    @cuda.jit
    def kernel(x, out):
        col = int32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        row = int32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)

        if row < out.shape[0] and col < out.shape[1]:
            total = float32(0)
            for i in range(-1, 2):
                for j in range(-1, 2):
                    total += at(x, row + int32(i), col + int32(j))
            out[row, col] = total / float32(9)

    return kernel


blur_int32, blur_unsigned = blur_with(at32), blur_with(at_unsigned)


@cuda.jit
def matmul_unsigned(a, b, out):
    """Multiply with indices that cannot be negative."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        r, c = uint32(row), uint32(col)
        total = float32(0)
        for i in range(uint32(a.shape[1])):
            total += a[r, i] * b[i, c]
        out[r, c] = total


@cuda.jit
def matmul_double(a, b, out):
    """Multiply with a sum of 64 bits."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        total = 0.0
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        out[row, col] = total
