# verdict: wrong-value
# The parity flips with every tile.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, stages)
    parity = k % 2
    return stage, parity, 1 - parity
