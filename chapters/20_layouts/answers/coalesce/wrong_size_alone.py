# verdict: answer
# A mode ends at its size; but its stride counts, too.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for size, stride in modes(layout):
        if size == 1:
            continue
        if sizes and stride == sizes[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))  # <- here
