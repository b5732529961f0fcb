# verdict: library
# Let the class do it.
def crd2idx(coordinate, shape, stride):
    """Return the index of a coordinate, which may be a number at any level."""

    return Layout(shape, stride)(coordinate)  # <- here
