# verdict: gradient
# Write the derivative with PyTorch, and forget the square.
@torch.library.custom_op("lab32::poly", mutates_args=(), device_types=DEVICE)
def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x."""
    return launched(poly_kernel, [x], a, b)


poly.register_fake(contiguous_fake)


def keep(ctx, inputs, output):
    """Save what the backward needs; inputs: x, a, b."""
    x, ctx.a, ctx.b = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    """Return the gradients of x, a and b."""
    (x,) = ctx.saved_tensors
    return grad * (3 * ctx.a * x + ctx.b), None, None  # <- here


poly.register_autograd(backward, setup_context=keep)
