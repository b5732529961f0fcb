# verdict: answer
# A stride of 0 leads nowhere, so these modes can be dropped.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for size, stride in modes(layout):
        if size == 1 or stride == 0:
            continue
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        return Layout(1, 0)  # <- here
    return Layout(tuple(sizes), tuple(strides))
