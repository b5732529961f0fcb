# verdict: strides
# Every tensor can be viewed as one row.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() > 0:
        grid = -(-x.numel() // 256)
        stream = current_stream()
        poly_kernel[grid, 256, stream](x.view(-1), a, b, out.view(-1))  # <- here
    return out


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
