# verdict: wrong-value
# Give keys and values the shape that they need.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    t = F.silu(net.time(embed(times, net.time[0].in_features)))
    shifts = [block.time(t) + block.conv1.bias for block in net.res]
    n, tokens, _ = text.shape
    pairs = []
    for att in net.att:
        cross = att.cross
        k = cross.k(text).reshape(n, -1, tokens, cross.head)
        v = cross.v(text).reshape(n, -1, tokens, cross.head)
        pairs.append((k, v))
    return shifts, pairs
