# verdict: wrong-value
# Multiply a number by the first stride instead of splitting it.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        coordinate = (coordinate,) + (0,) * (len(shape) - 1)
    return sum(map(crd2idx, coordinate, shape, stride))  # <- here
