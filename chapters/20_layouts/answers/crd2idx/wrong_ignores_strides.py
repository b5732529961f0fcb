# verdict: wrong-value
# Return the number of the coordinate, as if the layout were column-major.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(coordinate, tuple):
        return coordinate * (stride if isinstance(stride, int) else 1)
    index, before = 0, 1
    for part, mode in zip(coordinate, shape):
        index += crd2idx(part, mode, stride) * before
        before *= layouts.size(mode)
    return index  # <- here
