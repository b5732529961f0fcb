# verdict: pass
# In two passes, as CuTe's documentation does it: divide the step out, then keep.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart
    if step == 0:
        return Layout(left, 0)
    *faster, (_, last) = modes(a)
    strided = []
    for size, stride in faster:
        strided.append((max(size // step, 1), step * stride))
        step = max(step // size, 1)
    kept = []
    for size, stride in strided:
        kept.append((min(size, left), stride))
        left //= min(size, left)
    sizes, strides = zip(*kept, (left, step * last))
    return layouts.coalesce(Layout(sizes, strides))
