# verdict: answer
# Compose in the other order: B after A.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b))

    left, step = b.shape, b.stride  # elements to pick, and how far apart

    return Layout(a.shape, tuple(d * step for _, d in modes(a)))  # <- here
