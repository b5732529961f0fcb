# verdict: pass
# Save the derivative itself, which is a tensor too.
@torch.library.custom_op("lab32::poly", mutates_args=(), device_types=DEVICE)
def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x."""
    return launched(poly_kernel, [x], a, b)


poly.register_fake(contiguous_fake)


def keep(ctx, inputs, output):
    """Save what the backward needs; inputs: x, a, b."""
    x, a, b = inputs
    ctx.save_for_backward(3 * a * x * x + b)


def backward(ctx, grad):
    """Return the gradients of x, a and b."""
    return grad * ctx.saved_tensors[0], None, None


poly.register_autograd(backward, setup_context=keep)
