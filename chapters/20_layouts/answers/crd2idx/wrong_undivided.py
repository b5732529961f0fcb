# verdict: wrong-value
# Each mode takes its remainder of the same number.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        coordinate = [coordinate % layouts.size(mode) for mode in shape]
    return sum(map(crd2idx, coordinate, shape, stride))  # <- here
