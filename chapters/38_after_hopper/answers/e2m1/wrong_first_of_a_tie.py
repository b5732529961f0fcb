# verdict: wrong-value
# min takes the first of two that are equally near; but that is the smaller one.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    codes = range(8)
    code = min(codes, key=lambda k: abs(abs(x) - formats.E2M1[k]))
    return code + 8 if x < 0 else code  # <- here
