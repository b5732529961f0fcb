# verdict: wrong-value
# Count shared memory in elements.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN)
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
