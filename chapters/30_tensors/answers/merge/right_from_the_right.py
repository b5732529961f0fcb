# verdict: pass
# Go from the right: does the left neighbour end where the run so far starts?
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    kept = [(n, s) for n, s in zip(shape, strides) if n != 1]
    runs = []
    while kept:
        size, step = kept.pop()
        while kept and kept[-1][1] == size * step:
            size *= kept.pop()[0]
        runs.insert(0, (size, step))
    return [n for n, _ in runs], [s for _, s in runs]
