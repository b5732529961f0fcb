# verdict: wrong-value
# Tiles are counted from 1.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k + 1, stages)
    parity = turn % 2
    return stage, parity, 1 - parity
