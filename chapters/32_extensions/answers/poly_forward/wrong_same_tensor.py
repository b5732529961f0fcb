# verdict: alias
# Copy the result into x, and return x itself.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    if x.numel() == 0:
        return x
    out = x
    grid = -(-x.numel() // 256)
    new = torch.empty_like(x)
    poly_kernel[grid, 256, current_stream()](flat(x), a, b, flat(new))
    out.copy_(new)
    return out


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
