# verdict: wrong-value
# A number of loads is whole, so round it down.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN)
    return threads, shared, registers, (TM + TN) // 4 // (TM * TN)  # <- here
