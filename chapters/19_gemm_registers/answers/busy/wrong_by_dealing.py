# verdict: library
# The function that deals out the blocks is in `checks`.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    return checks.shared_out(m, n, BM, BN, slots)  # <- here
