# verdict: answer
# Sort the modes by stride first; but this changes the order of the coordinates.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1:
            continue
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))  # <- here
