# verdict: wrong-value
# Whole blocks, whole waves.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = (m // BM) * (n // BN)
    waves = blocks // slots
    return m * n / (waves * slots * BM * BN)
