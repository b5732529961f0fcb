# verdict: autograd
# Register the functions for the new operator.
@torch.library.custom_op("lab32::steep", mutates_args=(), device_types=DEVICE)
def steep(
    grad: torch.Tensor, x: torch.Tensor, a: float, b: float
) -> torch.Tensor:
    """Return grad · (3 a x² + b)."""
    return launched(slope_kernel, [grad, x], a, b)


steep.register_fake(contiguous_fake)


def keep_steep(ctx, inputs, output):
    """Save what the backward needs; inputs: grad, x, a, b."""
    grad, x, ctx.a, ctx.b = inputs
    ctx.save_for_backward(grad, x)


def steep_backward(ctx, grad_out):  # <- here
    """Return the gradients of grad, x, a and b."""
    grad, x = ctx.saved_tensors
    for_grad = grad_out * (3 * ctx.a * x * x + ctx.b)
    return for_grad, 6 * ctx.a * (grad_out * grad * x), None, None


steep.register_autograd(steep_backward, setup_context=keep_steep)
