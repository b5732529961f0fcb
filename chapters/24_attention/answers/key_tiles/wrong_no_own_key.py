# verdict: answer
# A query does not see its own key.
def key_tiles(first, rows, keys, seq, causal):
    """Return how many tiles need no mask, and how many are needed at all."""
    if not causal:
        return seq // keys, -(-seq // keys)
    last = min(first + rows, seq) - 1
    return first // keys, -(-last // keys)  # <- here
