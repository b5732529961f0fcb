# verdict: wrong-value
# I forgot the sign.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    return min(  # <- here
        range(8), key=lambda k: (abs(abs(x) - formats.E2M1[k]), k % 2)
    )
