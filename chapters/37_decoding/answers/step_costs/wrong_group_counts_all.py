# verdict: answer
# Without sharing, a group reads everything as often as it has queries.
def step_costs(lengths, heads, kv_heads, d):
    """Return the operations of a decoding step, and its bytes in two ways."""
    keys = sum(lengths)
    flops = 4 * d * heads * keys
    rows = 2 * 2 * d * heads * len(lengths)
    once = 2 * 2 * d * kv_heads * keys + rows
    apart = once * heads // kv_heads
    return flops, once, apart  # <- here
