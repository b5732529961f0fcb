# verdict: wrong-value
# divmod gives the remainder first.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    stage, turn = divmod(k, stages)
    parity = turn % 2
    return stage, parity, 1 - parity
