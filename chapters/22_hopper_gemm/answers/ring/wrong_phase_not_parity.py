# verdict: wrong-value
# The number of the phase is not its parity.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, stages)
    parity = turn
    return stage, parity, 1 - parity
