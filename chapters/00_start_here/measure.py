"""The measurement of chapter 0. It times the learner's kernel, and returns a table.

Without a GPU, the table shows what the reference GPU measured.
"""

from numba import cuda

from weft import bench

n = 1 << 26


def doubling(double, guess=None):
    """Compare the learner's kernel with PyTorch's."""

    def candidates():
        import torch

        x = torch.rand(n, device="cuda")
        out = torch.empty_like(x)
        d_x, d_out = cuda.as_cuda_array(x), cuda.as_cuda_array(out)
        return {
            "torch.mul": lambda: torch.mul(x, 2, out=out),
            "double": lambda: double[n // 256, 256](d_x, d_out),
        }

    return bench.compare(
        "2^26 float32",
        candidates,
        baseline="torch.mul",
        bytes=2 * 4 * n,
        guess=guess,
    )
