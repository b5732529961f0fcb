# verdict: wrong-value
# Waves may be broken numbers.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m // BM) * -(-n // BN)
    waves = blocks / slots
    return m * n / (waves * slots * BM * BN)
