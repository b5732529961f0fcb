# verdict: mutation
# Save the allocation: the kernel may read and write the same element.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    if x.numel() > 0:
        grid = -(-x.numel() // 256)
        here = x.as_strided((x.numel(),), (1,))
        poly_kernel[grid, 256, current_stream()](here, a, b, here)  # <- here
    return x.clone()


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
