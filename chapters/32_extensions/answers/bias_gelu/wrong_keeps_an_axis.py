# verdict: gradient
# Sum the rows, and keep an axis of length 1, which PyTorch drops.
@torch.library.custom_op("lab32::bias_gelu", mutates_args=(), device_types=DEVICE)
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the GELU of x + bias; x: (m, n), bias: (n,)."""
    return over_rows(bias_gelu_kernel, x, bias)


bias_gelu.register_fake(contiguous_fake)


def keep_gelu(ctx, inputs, output):
    """Save what the backward needs; inputs: x, bias."""
    ctx.save_for_backward(*inputs)


def gelu_backward(ctx, grad):
    """Return the gradients of x and bias, None where none is needed."""
    x, bias = ctx.saved_tensors
    for_x, for_bias = ctx.needs_input_grad
    through = gelu_slope(grad, x, bias)
    for_x = through if for_x else None
    return for_x, through.sum(0, keepdim=True) if for_bias else None  # <- here


bias_gelu.register_autograd(gelu_backward, setup_context=keep_gelu)
