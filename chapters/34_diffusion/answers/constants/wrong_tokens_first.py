# verdict: shape
# Split into heads, and leave the tokens before them.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    vectors = F.silu(net.time(embed(times, net.widths[0]).to(text.dtype)))
    tables = [block.time(vectors) + block.conv1.bias for block in net.res]
    pairs = []
    for cross in (att.cross for att in net.att):
        pairs.append(tuple(y.unflatten(-1, (-1, cross.head)) for y in (cross.k(text), cross.v(text))))
    return tables, pairs
