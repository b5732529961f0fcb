# verdict: wrong-value
# BM lies along n.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m // BN) * -(-n // BM)
    waves = -(-blocks // slots)
    return m * n / (waves * slots * BM * BN)
