# verdict: wrong-value
# And one for the rest.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m // BM) * -(-n // BN)
    waves = blocks // slots + 1
    return m * n / (waves * slots * BM * BN)
