# verdict: pass
# Use the set of indices: the smallest that is missing is the next stride.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides = [], []
    filled = set(layout.table())
    while len(filled) < target:
        start = next(i for i in range(target) if i not in filled)
        many = 1
        while many * start < target and many * start not in filled:
            many += 1
        sizes.append(many)
        strides.append(start)
        filled = {i + k * start for i in filled for k in range(many)}
    return Layout(sizes, strides) if sizes else Layout(1, 0)
