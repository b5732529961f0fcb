# verdict: pass
# From the other end: the left neighbour may end where the run so far starts.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    kept = [(n, d) for n, d in modes(layout) if n > 1]
    merged = []
    while kept:
        size, stride = kept.pop()
        while kept and kept[-1][0] * kept[-1][1] == stride:
            left, stride = kept.pop()
            size *= left
        merged.insert(0, (size, stride))
    if not merged:
        return Layout(1, 0)
    return Layout([n for n, _ in merged], [d for _, d in merged])
