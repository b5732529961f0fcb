# verdict: answer
# Take as many as the mode has, without a look at how many are still to be picked.
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
        taken = size // step
        sizes.append(taken)
        strides.append(step * stride)
        left, step = left // taken, 1
    sizes.append(left)
    strides.append(step * last)
    return Layout(tuple(sizes), tuple(strides))  # <- here
