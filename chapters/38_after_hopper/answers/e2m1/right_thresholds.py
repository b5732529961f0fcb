# verdict: pass
# Count the middles below x, and x itself as one if the code above is even.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    middles = ((0.25, 0), (0.75, 1), (1.25, 0), (1.75, 1), (2.5, 0), (3.5, 1), (5, 0))
    code = 0
    for middle, up in middles:
        if abs(x) > middle or (abs(x) == middle and up):
            code += 1
    return code | (8 if x < 0 else 0)
