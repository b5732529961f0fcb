# verdict: pass
# Add a mode only where there is a gap.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    for stride, size in sorted((d, n) for n, d in modes(layout) if n > 1 and d):
        if stride > reached:
            sizes.append(stride // reached)
            strides.append(reached)
        reached = size * stride
    if target > reached:
        sizes.append(target // reached)
        strides.append(reached)
    return Layout(sizes, strides) if sizes else Layout(1, 0)
