# verdict: wrong-value
# Knows NVFP4 only; with blocks of 32, half of the elements are left out.
def scaled_dot(a, b):
    """Return the dot product of two block-scaled vectors."""

    total = 0.0
    for k in range(len(a.scales)):
        for i in range(16 * k, 16 * k + 16):
            product = formats.E2M1[a.codes[i]] * formats.E2M1[b.codes[i]]
            total += product * a.scales[k] * b.scales[k]
    return total * a.tensor * b.tensor  # <- here
