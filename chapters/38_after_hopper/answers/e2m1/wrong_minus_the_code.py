# verdict: wrong-value
# Make the code negative instead of setting its sign bit.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    code = min(range(8), key=lambda k: (abs(abs(x) - formats.E2M1[k]), k % 2))
    return -code if x < 0 else code  # <- here
