# verdict: wrong-value
# A share, cut off to a whole number: small beside the bytes, and yet wrong.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    threads = BM * BN // (TM * TN)
    shared = 4 * stages * BK * (BM + 4 + BN)
    registers = TM * TN + 2 * (TM + TN)
    return threads, shared, registers, (TM + TN) // 4 // (TM * TN)  # <- here
