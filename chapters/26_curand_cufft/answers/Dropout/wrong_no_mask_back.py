# verdict: gradient
# The gradient passes through as it is.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None
