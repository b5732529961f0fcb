# verdict: wrong-value
# Use the first key number for both halves.
@cuda.jit
def philox(counters, key, out):
    """Scramble each row of counters with Philox4x32-10."""
    i = cuda.grid(1)

    if i < counters.shape[0]:
        a, b, c, d = counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3]
        k0, k1 = key[0], key[1]
        for _ in range(ROUNDS):
            a_hi, a_lo = mul_wide(a, MULTIPLIERS[0])
            c_hi, c_lo = mul_wide(c, MULTIPLIERS[1])
            a, b, c, d = c_hi ^ b ^ k0, c_lo, a_hi ^ d ^ k0, a_lo
            k0 = uint32(k0 + WEYL[0])
            k1 = uint32(k1 + WEYL[1])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d  # <- here
