# verdict: wrong-value
# Do not start a new sum for each block.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = part = 0.0
    for k in range(len(a.scales)):
        for i in range(k * a.block, (k + 1) * a.block):
            part += formats.E2M1[a.codes[i]] * formats.E2M1[b.codes[i]]
        total += part * a.scales[k] * b.scales[k]
    return total * a.tensor * b.tensor  # <- here
