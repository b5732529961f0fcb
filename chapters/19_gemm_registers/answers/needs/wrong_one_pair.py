# verdict: wrong-value
# One fragment of each operand is enough.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + TM + TN
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
