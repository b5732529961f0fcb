# verdict: wrong-value
# The number of results, divided by those of a block.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m * n // (BM * BN))
    waves = -(-blocks // slots)
    return m * n / (waves * slots * BM * BN)
