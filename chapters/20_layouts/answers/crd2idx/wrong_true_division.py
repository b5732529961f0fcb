# verdict: type
# Divide with /; but a float then goes on to the next mode.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        parts = []
        for mode in shape[:-1]:
            parts.append(coordinate % layouts.size(mode))
            coordinate = coordinate / layouts.size(mode)
        coordinate = (*parts, coordinate)
    return sum(map(crd2idx, coordinate, shape, stride))
