# verdict: wrong-value
# Move on, and then read the offset.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        generator.offset += -(-x.numel() // 4)
        ctx.mask = p, generator.seed, generator.offset
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return thinned(grad, *ctx.mask), None, None
