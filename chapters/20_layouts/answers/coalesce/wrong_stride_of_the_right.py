# verdict: answer
# The merged mode has the stride of its right half.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for size, stride in modes(layout):
        if size == 1:
            continue
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
            strides[-1] = stride
        else:
            sizes.append(size)
            strides.append(stride)
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))  # <- here
