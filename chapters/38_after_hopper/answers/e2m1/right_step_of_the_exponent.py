# verdict: pass
# Round to a multiple of the exponent's step; round() takes ties to even.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    magnitude = abs(x)
    step = 0.5 if magnitude < 2 else 1 if magnitude < 4 else 2
    magnitude = min(round(magnitude / step) * step, 6)
    return formats.E2M1.index(magnitude) + 8 * (x < 0)
