# verdict: wrong-value
# Blocks at the edge compute too much.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m // BM) * -(-n // BN)
    return m * n / (blocks * BM * BN)
