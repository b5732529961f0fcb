"""The polynomial as an operator of a `Library`, launched by `weft.prepare`."""

import functools

import torch
from numba import cuda

import weft

from .kernels import contiguous_fake, double, launched, poly_single, slope_kernel

KEY = "CUDA" if weft.GPU else "CPU"
library = None  # imported again, the module first forgets what it defined
library = torch.library.Library("lab32_lean", "DEF")
library.define("poly(Tensor x, float a, float b) -> Tensor")
library.define("plain(Tensor x, float a, float b) -> Tensor")
library.define("slope(Tensor grad, Tensor x, float a, float b) -> Tensor")

slope_single = cuda.jit(double)(slope_kernel.py_func)
launch_poly = weft.prepare(poly_single)
launch_slope = weft.prepare(slope_single)


def lean_poly(x, a, b):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        launch_poly(-(-n // 256), 256, x, a, b, out)
    return out


def plain_poly(x, a, b):
    return launched(poly_single, [x], a, b)


def lean_slope(grad, x, a, b):
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        launch_slope(-(-n // 256), 256, grad, x, a, b, out)
    return out


registered = {"poly": lean_poly, "plain": plain_poly, "slope": lean_slope}
for name, function in registered.items():
    library.impl(name, function, KEY)
    torch.library.register_fake(f"lab32_lean::{name}", contiguous_fake)

lean = torch.ops.lab32_lean.poly.default


@functools.cache
def differentiate():
    """Register the backward of `lean`, once."""
    torch.library.register_autograd(
        "lab32_lean::poly",
        lambda ctx, grad: (
            torch.ops.lab32_lean.slope.default(grad, *ctx.saved_tensors, ctx.a, ctx.b),
            None,
            None,
        ),
        setup_context=lambda ctx, inputs, output: (
            ctx.save_for_backward(inputs[0]),
            setattr(ctx, "a", inputs[1]),
            setattr(ctx, "b", inputs[2]),
        ),
    )
