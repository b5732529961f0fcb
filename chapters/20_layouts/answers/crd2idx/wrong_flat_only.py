# verdict: exception
# There is one number per mode; but a nested shape then multiplies tuples.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    shape = shape if isinstance(shape, tuple) else (shape,)
    stride = stride if isinstance(stride, tuple) else (stride,)
    if isinstance(coordinate, int):
        parts = []
        for mode in shape[:-1]:
            coordinate, part = divmod(coordinate, layouts.size(mode))
            parts.append(part)
        coordinate = (*parts, coordinate)
    return sum(c * d for c, d in zip(coordinate, stride))  # <- here
