# verdict: unwritten
# Only whole blocks: round the grid down.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    out = torch.empty_like(x)
    if x.stride() != out.stride():
        x = torch.empty_like(x).copy_(x)
    if x.numel() > 0:
        grid = max(1, x.numel() // 256)
        poly_kernel[grid, 256, current_stream()](flat(x), a, b, flat(out))  # <- here
    return out


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
