# verdict: wrong-value
# One round, as the verdict advises; but b is used for d.
@cuda.jit
def philox(counters, key, out):
    """Scramble each row of counters with Philox4x32-10."""
    i = cuda.grid(1)

    if i < counters.shape[0]:
        a, b, c, d = counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3]
        k, m = key[0], key[1]
        for _ in range(1):
            upper, lower = mul_wide(MULTIPLIERS[0], a)
            upper2, lower2 = mul_wide(MULTIPLIERS[1], c)
            a, b = uint32(upper2 ^ b ^ k), lower2
            c, d = uint32(upper ^ c ^ m), lower
            k, m = uint32(k + WEYL[0]), uint32(m + WEYL[1])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d  # <- here
