# verdict: library
# PyTorch has these operators already.
@torch.library.custom_op("lab32::poly_forward", mutates_args=(), device_types=DEVICE)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    return (a * x * x + b) * x  # <- here


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)
