# verdict: pass
# Go around the ring step by step.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    stage = parity = 0
    while k:
        k, stage = k - 1, stage + 1
        if stage == stages:
            stage, parity = 0, 1 - parity
    return stage, parity, 1 - parity
