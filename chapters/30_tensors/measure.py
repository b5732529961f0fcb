"""The measurements of chapter 30. Each function times, and returns a table."""

import contextlib

import torch
from numba import cuda
from torch.utils._python_dispatch import TorchDispatchMode

from weft import bench

from .kernels import make_contiguous32

IMAGES, CHANNELS, SIDE = 64, 64, 128


def channels_last(make_contiguous, guess=None):
    """Rearrange images with the learner's kernel, with another one, and PyTorch."""

    def rearrangements():
        """Return the ways from row-major to channels-last."""
        images = torch.rand(IMAGES, CHANNELS, SIDE, SIDE, device="cuda")
        same, out = torch.empty_like(images), torch.empty_like(images)
        view = images.permute(0, 2, 3, 1)
        flat, d_out = (cuda.as_cuda_array(t.view(-1)) for t in (images, out))
        launch = out.numel() // 256, 256

        def ours(kernel, view, dtype):
            recipe = [
                cuda.as_cuda_array(torch.tensor(part, dtype=dtype, device="cuda"))
                for part in (view.shape, view.stride())
            ]
            return lambda: kernel[launch](flat, *recipe, 0, d_out)

        merged = view.flatten(1, 2)
        return {
            "copy": lambda: same.copy_(images),
            "torch": lambda: view.contiguous(),
            "4 dimensions": ours(make_contiguous, view, torch.int64),
            "3 dimensions": ours(make_contiguous, merged, torch.int64),
            "32-bit": ours(make_contiguous32, merged, torch.int32),
        }

    return bench.compare(
        "to channels-last",
        rearrangements,
        baseline="torch",
        bytes=2 * 4 * IMAGES * CHANNELS * SIDE * SIDE,
        ceiling="copy",
        guess=guess,
    )


def additions():
    n = 8192
    x, y = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    wide_x = torch.rand(n, 2 * n, device="cuda")
    wide_y = torch.rand(n, 2 * n, device="cuda")
    return {
        "row-major": lambda: x + y,
        "both transposed": lambda: x.t() + y.t(),
        "one transposed": lambda: x + y.t(),
        "a row, broadcast": lambda: x + y[0],
        "every second column": lambda: wide_x[:, ::2] + wide_y[:, ::2],
    }


def layouts(guess=None):
    """Add matrices in several layouts."""
    return bench.compare(
        "x + y, 8192 x 8192", additions, baseline="row-major", guess=guess
    )


class Silent(TorchDispatchMode):
    """Passes every operation on."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def hundred_calls():
    a, b, c = (torch.ones(1, device="cuda") for _ in range(3))
    leaf = torch.ones(1, device="cuda", requires_grad=True)

    def hundred(call, context=contextlib.nullcontext):
        def run():
            with context():
                for _ in range(100):
                    call()

        return run

    def add():
        torch.add(a, b)

    return {
        "torch.add": hundred(add),
        "with out=": hundred(lambda: torch.add(a, b, out=c)),
        "requires grad": hundred(lambda: torch.add(leaf, b)),
        "no_grad": hundred(lambda: torch.add(leaf, b), torch.no_grad),
        "inference_mode": hundred(add, torch.inference_mode),
        "a view": hundred(lambda: a.view(1)),
        "dispatch mode": hundred(add, Silent),
    }


def overhead(guess=None):
    """Call one operator in several ways, for one number."""
    return bench.compare(
        "100 calls, one number",
        hundred_calls,
        baseline="torch.add",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )
