# verdict: wrong-value
# Take the remainder in the last mode, too; within the shape, it changes nothing.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts, before = [], 1
        for mode in shape:
            parts.append(coordinate // before % layouts.size(mode))
            before *= layouts.size(mode)
        coordinate = tuple(parts)
    return sum(map(crd2idx, coordinate, shape, stride))  # <- here
