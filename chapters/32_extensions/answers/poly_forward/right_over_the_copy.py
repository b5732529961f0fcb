# verdict: pass
# Copy the input into the result, then work there.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    out = torch.empty_like(x).copy_(x)
    if out.numel() > 0:
        blocks = (out.numel() + 127) // 128
        here = flat(out)
        poly_kernel[blocks, 128, current_stream()](here, a, b, here)
    return out


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
