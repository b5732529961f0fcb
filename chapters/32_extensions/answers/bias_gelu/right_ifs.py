# verdict: pass
# A conditional expression and an if; a product with ones gives the sum.
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
    through = gelu_slope(grad, x, bias)
    for_bias = None
    if ctx.needs_input_grad[1]:
        for_bias = through.new_ones(len(x)) @ through
    return (through if ctx.needs_input_grad[0] else None), for_bias


bias_gelu.register_autograd(gelu_backward, setup_context=keep_gelu)
