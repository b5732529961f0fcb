# verdict: pass
# Division and remainder, without divmod.
def ring(k, stages):
    """Return stage, parity at full, parity at empty of tile k."""
    parity = k // stages & 1
    return k % stages, parity, parity ^ 1
