# verdict: exception
# There is one number per mode; but a nested shape then multiplies tuples.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if isinstance(coordinate, int):
        parts = []
        for mode in shape if isinstance(shape, tuple) else (shape,):
            coordinate, part = divmod(coordinate, layouts.size(mode))
            parts.append(part)
        coordinate = tuple(parts)
    shape = shape if isinstance(shape, tuple) else (shape,)
    stride = stride if isinstance(stride, tuple) else (stride,)
    return sum(c * d for c, d in zip(coordinate, stride))  # <- here
