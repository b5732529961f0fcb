# verdict: pass
# Keep the numbers in a list, and ask whether x needs a gradient.
@torch.library.custom_op("lab32::poly", mutates_args=(), device_types=DEVICE)
def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x."""
    return launched(poly_kernel, [x], a, b)


poly.register_fake(contiguous_fake)


def keep(ctx, inputs, output):
    """Save what the backward needs; inputs: x, a, b."""
    ctx.save_for_backward(inputs[0])
    ctx.rest = inputs[1:]


def backward(ctx, grad):
    """Return the gradients of x, a and b."""
    x = ctx.saved_tensors[0]
    wanted = ctx.needs_input_grad[0]
    return slope(grad, x, *ctx.rest) if wanted else None, None, None


poly.register_autograd(backward, setup_context=keep)
