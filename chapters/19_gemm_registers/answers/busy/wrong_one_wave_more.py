# verdict: wrong-value
# Add one wave for the rest.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m // BM) * -(-n // BN)
    waves = blocks // slots + 1
    return m * n / (waves * slots * BM * BN)
