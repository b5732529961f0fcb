# verdict: answer
# Fill the gaps, but do not repeat up to the target.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if size == 1 or stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    if not sizes:
        return Layout(1, 0)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
