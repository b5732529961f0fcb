# verdict: wrong-value
# The last wave is not full.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    blocks = -(-m // BM) * -(-n // BN)
    return blocks / (-(-blocks // slots) * slots)
