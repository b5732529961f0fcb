# verdict: exception
# Keep the generator; but it has moved on by the time of the backward pass.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.p, ctx.generator = p, generator
        first = generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, p, generator.seed, first)

    @staticmethod
    def backward(ctx, grad):
        generator = ctx.generator
        grad = thinned(grad, ctx.p, generator.seed, generator.offset)  # <- here
        return grad, None, None
