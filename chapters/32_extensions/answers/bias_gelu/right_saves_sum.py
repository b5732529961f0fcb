# verdict: pass
# Save x + bias, and use a bias of zero for the slope.
@torch.library.custom_op("lab32::bias_gelu", mutates_args=(), device_types=DEVICE)
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the GELU of x + bias; x: (m, n), bias: (n,)."""
    return over_rows(bias_gelu_kernel, x, bias)


bias_gelu.register_fake(contiguous_fake)


def keep_gelu(ctx, inputs, output):
    """Save what the backward needs; inputs: x, bias."""
    x, bias = inputs
    ctx.save_for_backward(x + bias)


def gelu_backward(ctx, grad):
    """Return the gradients of x and bias, None where none is needed."""
    z = ctx.saved_tensors[0]
    none = torch.zeros_like(z[0])
    through = gelu_slope(grad, z, none)
    needed = ctx.needs_input_grad
    return tuple(g if n else None for g, n in zip((through, through.sum(0)), needed))


bias_gelu.register_autograd(gelu_backward, setup_context=keep_gelu)
