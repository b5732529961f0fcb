# verdict: gradient
# Scale once more in the backward pass.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        p = ctx.mask[0]
        return thinned(grad, *ctx.mask) / (1 - p), None, None
