# verdict: gradient
# The gradient of what stays is 1.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return (1 - ctx.mask[0]) * thinned(grad, *ctx.mask), None, None  # <- here
