# verdict: answer
# Shorten the step by the stride of the mode, not by its size.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart
    sizes, strides = [], []
    *first, (_, last) = modes(a)
    for size, stride in first:
        if step % size == 0:
            step //= stride
        else:
            take = min(left, size // step)
            sizes.append(take)
            strides.append(step * stride)
            left //= take
            step = 1
    sizes.append(left)
    strides.append(step * last)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
