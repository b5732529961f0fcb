# verdict: answer
# Skip the last mode, too, if its size divides the step.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    sizes, strides = [1], [0]
    for number, (size, stride) in enumerate(modes(a), 1):
        if step % size == 0:
            step //= size
            continue
        taken = left if number == len(a) else min(size // step, left)
        sizes.append(taken)
        strides.append(step * stride)
        left, step = left // taken, 1
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
