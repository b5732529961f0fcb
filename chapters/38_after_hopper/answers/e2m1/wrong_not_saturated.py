# verdict: exception
# Look for a neighbour above; but 100 has none.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    magnitude = abs(x)
    above = next(k for k in range(8) if formats.E2M1[k] >= magnitude)  # <- here
    below = max(above - 1, 0)
    up, down = formats.E2M1[above] - magnitude, magnitude - formats.E2M1[below]
    code = below if down < up or (down == up and below % 2 == 0) else above
    return code + 8 if x < 0 else code
