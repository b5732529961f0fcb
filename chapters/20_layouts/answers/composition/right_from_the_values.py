# verdict: pass
# Find the size and stride of each mode in the indices themselves.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    indices = [a(step * k) for k in range(left)]
    found = []
    while len(indices) > 1:
        stride = indices[1] - indices[0]
        run = 1
        while run < len(indices) and indices[run] == indices[0] + run * stride:
            run += 1
        while len(indices) % run or any(
            indices[start + k] != indices[start] + k * stride
            for start in range(0, len(indices), run)
            for k in range(run)
        ):
            run -= 1
        found.append((run, stride))
        indices = indices[::run]
    if not found:
        return Layout(left, 0)
    sizes, strides = zip(*found)
    return Layout(sizes, strides) if len(found) > 1 else Layout(*found[0])
