# verdict: wrong-value
# Add 60 registers for addresses.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN) + 60
    loads = (TM + TN) / 4 / (TM * TN)
    return threads, shared, registers, loads
