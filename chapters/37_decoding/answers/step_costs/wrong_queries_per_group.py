# verdict: answer
# A group has one query.
def step_costs(lengths, heads, kv_heads, d):
    """Return the operations of a decoding step, and its bytes in two ways."""
    keys = sum(lengths)
    flops = 4 * d * heads * keys
    rows = 2 * 2 * d * kv_heads * len(lengths)
    once = 2 * 2 * d * kv_heads * keys + rows
    apart = 2 * 2 * d * heads * keys + rows
    return flops, once, apart  # <- here
