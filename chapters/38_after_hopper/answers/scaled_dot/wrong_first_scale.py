# verdict: wrong-value
# Sum over everything, and scale at the end.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for i, j in zip(a.codes, b.codes, strict=True):
        total += formats.E2M1[i] * formats.E2M1[j]
    total *= a.scales[0] * b.scales[0]
    return total * a.tensor * b.tensor  # <- here
