# verdict: library
# The function that counts is in `checks`.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    return checks.needed(BM, BN, TM, TN, BK, stages)  # <- here
