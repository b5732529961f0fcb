# verdict: wrong-value
# Only the first round, as the verdict advises when it cannot name the mistake.
@cuda.jit
def philox(counters, key, out):
    """Scramble each row of counters with Philox4x32-10."""
    i = cuda.grid(1)

    if i < counters.shape[0]:
        a, b, c, d = counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3]
        upper, lower = mul_wide(MULTIPLIERS[0], a)
        upper2, lower2 = mul_wide(MULTIPLIERS[1], c)
        out[i, 0], out[i, 1] = uint32(upper2 ^ b ^ key[0]), lower2  # <- here
        out[i, 2], out[i, 3] = uint32(upper ^ d ^ key[1]), lower
