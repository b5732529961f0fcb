# verdict: pass
# Make the mask in two pieces, each from its own counter on.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        ctx.mask = p, generator.seed, generator.offset
        generator.offset += -(-x.numel() // 4)
        return thinned(x, *ctx.mask)

    @staticmethod
    def backward(ctx, grad):
        p, seed, first = ctx.mask
        pieces = thinned(grad[:4], p, seed, first), thinned(grad[4:], p, seed, first + 1)
        return torch.cat(pieces), None, None
