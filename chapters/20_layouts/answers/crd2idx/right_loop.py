# verdict: pass
# Split on the way, without making a tuple first; the last mode has no remainder.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    if isinstance(shape, int):
        return coordinate * stride
    index = 0
    last = len(shape) - 1
    for k, (mode, step) in enumerate(zip(shape, stride)):
        if isinstance(coordinate, tuple):
            part = coordinate[k]
        elif k == last:
            part = coordinate
        else:
            many = layouts.size(mode)
            part, coordinate = coordinate % many, coordinate // many
        index += crd2idx(part, mode, step)
    return index
