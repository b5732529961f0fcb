# verdict: wrong-value
# Use three bits of the code; but that loses the sign.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for k in range(len(a.scales)):
        for i in range(k * a.block, (k + 1) * a.block):
            left, right = a.codes[i] & 7, b.codes[i] & 7
            total += (
                formats.E2M1[left] * formats.E2M1[right] * a.scales[k] * b.scales[k]
            )
    return total * a.tensor * b.tensor  # <- here
