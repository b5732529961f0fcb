# verdict: wrong-value
# The parity is the number of the phase.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, stages)
    parity = turn
    return stage, parity, 1 - parity
