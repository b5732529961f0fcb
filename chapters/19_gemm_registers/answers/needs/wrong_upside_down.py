# verdict: wrong-value
# The answer is multiply-adds per load.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN)
    loads = TM * TN / ((TM + TN) / 4)
    return threads, shared, registers, loads
