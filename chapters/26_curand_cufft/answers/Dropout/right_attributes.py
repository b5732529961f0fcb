# verdict: pass
# Keep each value under its own name.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.p = p
        ctx.seed = generator.seed
        ctx.first = generator.offset
        generator.offset += (x.numel() + 3) // 4
        return thinned(x, ctx.p, ctx.seed, ctx.first)

    @staticmethod
    def backward(ctx, grad):
        dx = thinned(grad, ctx.p, ctx.seed, ctx.first)
        return dx, None, None
