# verdict: wrong-value
# Both wait for the same parity.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    turn, stage = divmod(k, stages)
    parity = turn % 2
    return stage, parity, parity
