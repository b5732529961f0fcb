# verdict: library
# Let the course do it.
def composition(a, b):
    """Return the layout R with R(c) = A(B(c))."""
    return layouts.composition(a, b)  # <- here
