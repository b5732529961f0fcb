# verdict: wrong-value
# The last wave is not full.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    blocks = -(-m // BM) * -(-n // BN)
    return blocks / (-(-blocks // slots) * slots)
