# verdict: pass
# One share for the edges, times another for the waves.
def busy(m, n, BM, BN, slots):
    """Return the share of the work in all waves that is useful."""
    down, across = (m + BM - 1) // BM, (n + BN - 1) // BN
    waves = (down * across + slots - 1) // slots
    edges = (m / (down * BM)) * (n / (across * BN))
    return edges * down * across / (waves * slots)
