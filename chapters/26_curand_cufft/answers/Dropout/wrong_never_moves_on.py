# verdict: exception
# The generator stays where it is.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return thinned(grad, *ctx.mask), None, None
