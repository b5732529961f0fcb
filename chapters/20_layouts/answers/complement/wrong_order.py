# verdict: answer
# Put the repetitions first and the gaps last.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1 or stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(sizes[::-1], strides[::-1]))  # <- here
