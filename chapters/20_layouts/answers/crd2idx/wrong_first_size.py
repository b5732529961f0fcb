# verdict: exception
# Divide by the mode itself, which may be a tuple.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts = []
        for mode in shape[:-1]:
            coordinate, part = divmod(coordinate, mode)  # <- here
            parts.append(part)
        coordinate = (*parts, coordinate)
    return sum(map(crd2idx, coordinate, shape, stride))
