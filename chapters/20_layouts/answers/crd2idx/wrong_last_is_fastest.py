# verdict: wrong-value
# Split a number from the right, as NumPy does.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts = []
        for mode in reversed(shape):
            coordinate, part = divmod(coordinate, layouts.size(mode))
            parts.append(part)
        coordinate = tuple(reversed(parts))
    return sum(map(crd2idx, coordinate, shape, stride))  # <- here
