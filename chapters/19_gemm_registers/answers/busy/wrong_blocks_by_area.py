# verdict: wrong-value
# Results by results of a block.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m * n // (BM * BN))
    waves = -(-blocks // slots)
    return m * n / (waves * slots * BM * BN)
