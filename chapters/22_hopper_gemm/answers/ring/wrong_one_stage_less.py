# verdict: wrong-value
# One stage is kept free.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, max(stages - 1, 1))
    parity = turn % 2
    return stage, parity, 1 - parity
