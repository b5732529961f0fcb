# verdict: strides
# Use flat views, without checking for gaps.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    out = torch.empty_like(x)
    if x.numel() > 0:
        grid = -(-x.numel() // 256)
        poly_kernel[grid, 256, current_stream()](flat(x), a, b, flat(out))
    return out  # <- here


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
