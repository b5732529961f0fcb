# verdict: type
# Return the number instead of its code.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    magnitude = min(formats.E2M1[:8], key=lambda v: abs(abs(x) - v))
    return magnitude if x >= 0 else -magnitude  # <- here
