# verdict: wrong-value
# Round ties away from zero, as at school.
def e2m1(x):
    """Return the code, 0 to 15, of the number of e2m1 that is nearest to x."""

    code = 0
    for k in range(7):
        middle = (formats.E2M1[k] + formats.E2M1[k + 1]) / 2
        if abs(x) >= middle:
            code = k + 1
    return code + 8 if x < 0 else code  # <- here
