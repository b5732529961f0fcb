# verdict: wrong-value
# A block has 16 elements; but of a block of 32, half is then left out.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for k in range(len(a.scales)):
        for i in range(16 * k, 16 * k + 16):
            product = formats.E2M1[a.codes[i]] * formats.E2M1[b.codes[i]]
            total += product * a.scales[k] * b.scales[k]
    return total * a.tensor * b.tensor  # <- here
