# verdict: library
# The function that deals out is in the next cell.
def busy(m, n, BM, BN, slots):
    """Return which share of the work in all waves is wanted."""
    return checks.shared_out(m, n, BM, BN, slots)  # <- here
