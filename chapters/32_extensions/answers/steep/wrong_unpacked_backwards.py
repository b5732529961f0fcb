# verdict: gradient
# Unpack the saved tensors in the other order.
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


def steep_backward(ctx, grad_out):
    """Return the gradients of grad, x, a and b."""
    x, grad = ctx.saved_tensors
    for_grad = steep(grad_out, x, ctx.a, ctx.b)
    for_x = grad_out * grad * (6 * ctx.a) * x
    return for_grad, for_x, None, None  # <- here


steep.register_autograd(steep_backward, setup_context=keep_steep)
