# verdict: answer
# Compare with the original neighbour; but a merged mode is then not merged again.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    before = None
    for size, stride in modes(layout):
        if size == 1:
            continue
        if before and stride == before[0] * before[1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
        before = sizes[-1], stride
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))  # <- here
