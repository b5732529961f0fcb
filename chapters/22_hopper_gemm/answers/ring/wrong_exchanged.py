# verdict: wrong-value
# Exchange the two parities.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, stages)
    parity = turn % 2
    return stage, 1 - parity, parity
