# verdict: answer
# Treat the last mode as the others: it takes no more than its size.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    if step == 0:
        return Layout(left, 0)
    sizes, strides = [], []
    for size, stride in modes(a):
        if step % size == 0:
            step //= size
            continue
        taken = min(size // step, left)
        sizes.append(taken)
        strides.append(step * stride)
        left, step = left // taken, 1
    if not sizes:
        return Layout(1, 0)
    return Layout(tuple(sizes), tuple(strides))  # <- here
