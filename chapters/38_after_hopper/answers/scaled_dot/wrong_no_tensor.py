# verdict: wrong-value
# Leave out the scales of the tensors.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for k in range(len(a.scales)):
        for i in range(k * a.block, (k + 1) * a.block):
            product = formats.E2M1[a.codes[i]] * formats.E2M1[b.codes[i]]
            total += product * a.scales[k] * b.scales[k]
    return total  # <- here
