# verdict: wrong-value
# Both tiles are padded.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + BN + 8)
    registers = TM * TN + 2 * (TM + TN)
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
