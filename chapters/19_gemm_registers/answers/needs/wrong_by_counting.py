# verdict: library
# The function that counts is in the next cell.
def needs(BM, BN, TM, TN, BK, stages):
    """Return threads, shared bytes, registers for floats, loads per FFMA."""
    return needed(BM, BN, TM, TN, BK, stages)  # <- here
