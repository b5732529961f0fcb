# verdict: answer
# Scale the first stride, as if A had a single mode.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    return Layout(left, step * modes(a)[0][1])  # <- here
