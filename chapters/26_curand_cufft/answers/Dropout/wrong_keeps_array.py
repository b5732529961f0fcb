# verdict: exception
# No tensor is kept; but the mask is, as a NumPy array.
class Dropout(torch.autograd.Function):
    """Dropout whose backward pass makes the mask again."""

    @staticmethod
    def forward(ctx, x, p, generator):
        out = thinned(x, p, generator.seed, generator.offset)
        generator.offset += -(-x.numel() // 4)
        ctx.p, ctx.mask = p, (out != 0).numpy()
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.from_numpy(ctx.mask) / (1 - ctx.p), None, None
