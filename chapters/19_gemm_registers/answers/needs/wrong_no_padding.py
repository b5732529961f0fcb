# verdict: wrong-value
# The padding is small.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + BN)
    registers = TM * TN + 2 * (TM + TN)
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
