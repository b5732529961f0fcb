# verdict: exception
# Keep the mask with p, in a tuple.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        out = thinned(x, p, generator.seed, generator.offset)
        generator.offset += -(-x.numel() // 4)
        ctx.kept = p, out != 0
        return out

    @staticmethod
    def backward(ctx, grad):
        p, mask = ctx.kept
        return grad * mask / (1 - p), None, None
