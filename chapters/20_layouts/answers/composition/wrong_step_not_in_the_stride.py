# verdict: answer
# The stride of a mode that is used is its own, without the step.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    *faster, (_, last) = modes(a)
    sizes, strides = [], []
    for size, stride in faster:
        if step % size == 0:
            step //= size
            continue
        taken = min(size // step, left)
        sizes.append(taken)
        strides.append(stride)
        left, step = left // taken, 1
    sizes.append(left)
    strides.append(step * last)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
