# verdict: wrong-value
# The answer is the share that is idle.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m // BM) * -(-n // BN)
    waves = -(-blocks // slots)
    return 1 - m * n / (waves * slots * BM * BN)
