# verdict: exception
# A mode of stride 0 is a mode like the others.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)  # <- here
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))
