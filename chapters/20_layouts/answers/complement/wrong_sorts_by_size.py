# verdict: answer
# Sort the modes as they are: by size, and then by stride.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1
    for size, stride in sorted(modes(layout)):
        if size == 1 or stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
