# verdict: answer
# Keep the modes of size 1, although their strides mean nothing.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for size, stride in modes(layout):
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    return Layout(tuple(sizes), tuple(strides))  # <- here
