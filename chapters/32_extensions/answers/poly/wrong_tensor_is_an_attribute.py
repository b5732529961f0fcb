# verdict: gradient
# Keep all three as attributes: it is shorter.
@torch.library.custom_op("lab32::poly", mutates_args=(), device_types=DEVICE)
def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x."""
    return launched(poly_kernel, [x], a, b)


poly.register_fake(contiguous_fake)


def keep(ctx, inputs, output):
    """Save what the backward needs; inputs: x, a, b."""
    ctx.x, ctx.a, ctx.b = inputs  # <- here


def backward(ctx, grad):
    """Return the gradients of x, a and b."""
    return slope(grad, ctx.x, ctx.a, ctx.b), None, None


poly.register_autograd(backward, setup_context=keep)
