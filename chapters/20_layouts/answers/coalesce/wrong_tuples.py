# verdict: answer
# Return the two tuples instead of a layout.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = [], []
    for size, stride in modes(layout):
        if size == 1:
            continue
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    return tuple(sizes), tuple(strides)  # <- here
