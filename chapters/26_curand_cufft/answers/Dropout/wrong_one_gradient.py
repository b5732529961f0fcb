# verdict: gradient
# Only x gets a gradient.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return thinned(grad, *ctx.mask)
