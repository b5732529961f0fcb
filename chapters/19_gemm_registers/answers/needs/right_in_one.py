# verdict: pass
# Everything in one expression.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    return (
        (BM // TM) * (BN // TN),
        4 * stages * (BK * (BM + 4) + BK * BN),
        (TM + 2) * (TN + 2) - 4,
        (1 / TM + 1 / TN) / 4,
    )
