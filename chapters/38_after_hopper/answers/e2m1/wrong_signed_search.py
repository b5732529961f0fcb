# verdict: wrong-value
# Searches all 16 values, but codes 8 to 15 are also even or odd by themselves: 0 and -0 tie.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    return min(range(16), key=lambda k: (abs(x - formats.E2M1[k]), -k % 2))  # <- here
