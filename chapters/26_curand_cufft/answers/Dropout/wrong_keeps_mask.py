# verdict: exception
# Keep the mask in ctx.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        first = generator.offset
        generator.offset += -(-x.numel() // 4)
        ctx.factor = thinned(torch.ones_like(x), p, generator.seed, first)
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None
