# verdict: exception
# Move on by the number of elements.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += x.numel()
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        return thinned(grad, *ctx.mask), None, None
