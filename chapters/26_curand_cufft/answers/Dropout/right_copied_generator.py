# verdict: pass
# A copy of the generator is just two numbers as well.
from copy import copy


class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.p, ctx.start = p, copy(generator)
        generator.offset += (x.numel() + 3) // 4
        return Dropout.thin(x, ctx)

    @staticmethod
    def thin(x, ctx):
        return thinned(x, ctx.p, ctx.start.seed, ctx.start.offset)

    @staticmethod
    def backward(ctx, grad):
        return Dropout.thin(grad, ctx), None, None
