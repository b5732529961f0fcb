# verdict: wrong-value
# Search all 16 values; but 0 and -0 are equally near.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    return min(range(16), key=lambda k: (abs(x - formats.E2M1[k]), -k % 2))  # <- here
