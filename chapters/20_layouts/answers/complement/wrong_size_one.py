# verdict: answer
# A mode of size 1 counts as if it reached as far as its stride.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout)):
        if stride == 0:
            continue
        sizes.append(stride // reached)
        strides.append(reached)
        reached = size * stride
    sizes.append(target // reached)
    strides.append(reached)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
