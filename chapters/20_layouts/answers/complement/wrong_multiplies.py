# verdict: answer
# What is filled grows by the size alone; the gap does not count.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1 or stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = reached * size
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
