# verdict: wrong-value
# Blocks at the edge compute too much.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m // BM) * -(-n // BN)
    return m * n / (blocks * BM * BN)
