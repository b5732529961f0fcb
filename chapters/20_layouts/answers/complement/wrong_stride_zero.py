# verdict: exception
# A mode of stride 0 fills nothing, and then there is nothing to divide by.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1:
            continue
        sizes.append(max(stride // reached, 1))  # <- here
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))
