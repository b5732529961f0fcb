# verdict: answer
# Coalesce the whole result; but B's coordinates then no longer fit.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    sizes, strides = [], []
    for left, step in modes(b):
        *faster, (_, last) = modes(a)
        for size, stride in faster:
            if step % size == 0:
                step //= size
                continue
            taken = min(size // step, left)
            sizes.append(taken)
            strides.append(step * stride)
            left, step = left // taken, 1
        sizes.append(left)
        strides.append(step * last)
    return layouts.coalesce(Layout(tuple(sizes), tuple(strides)))  # <- here
