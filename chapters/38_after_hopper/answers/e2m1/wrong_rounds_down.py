# verdict: wrong-value
# Take the largest value that is not above x.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    code = max(k for k in range(8) if formats.E2M1[k] <= abs(x))
    return code + 8 if x < 0 else code  # <- here
