# verdict: pass
# Merge the first pair that can be merged, and start again.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    pairs = [pair for pair in modes(layout) if pair[0] != 1] or [(1, 0)]
    for k in range(len(pairs) - 1):
        (a, da), (b, db) = pairs[k : k + 2]
        if a * da == db:
            pairs[k : k + 2] = [(a * b, da)]
            sizes, strides = zip(*pairs)
            return coalesce(Layout(sizes, strides))
    if len(pairs) == 1:
        return Layout(*pairs[0])
    sizes, strides = zip(*pairs)
    return Layout(sizes, strides)
