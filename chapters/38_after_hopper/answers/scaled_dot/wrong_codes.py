# verdict: wrong-value
# Multiply the codes themselves.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for k in range(len(a.scales)):
        for i in range(k * a.block, (k + 1) * a.block):
            total += a.codes[i] * b.codes[i] * a.scales[k] * b.scales[k]
    return total * a.tensor * b.tensor  # <- here
