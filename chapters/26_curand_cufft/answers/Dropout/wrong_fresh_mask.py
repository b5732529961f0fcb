# verdict: exception
# Draw new numbers in the backward pass.
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
        first = generator.offset
        generator.offset += -(-grad.numel() // 4)
        return thinned(grad, ctx.p, generator.seed, first), None, None  # <- here
