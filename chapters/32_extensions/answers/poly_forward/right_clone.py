# verdict: pass
# If x has no gaps, a clone has its layout.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    dense = x.clone()
    poly_kernel.forall(x.numel(), 128, current_stream())(
        flat(dense), a, b, flat(out)
    )
    return out


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
