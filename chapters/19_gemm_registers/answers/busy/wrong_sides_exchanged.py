# verdict: wrong-value
# BM is along n.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m // BN) * -(-n // BM)
    waves = -(-blocks // slots)
    return m * n / (waves * slots * BM * BN)
