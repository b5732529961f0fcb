# verdict: answer
# Go through the modes in the order in which they are written.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for size, stride in modes(layout):
        if size == 1 or stride == 0:
            continue
        sizes.append(max(stride // reached, 1))
        strides.append(reached)
        reached = size * stride
    sizes.append(max(target // reached, 1))
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
