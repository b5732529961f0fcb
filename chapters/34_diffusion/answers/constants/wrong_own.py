# verdict: exception
# Use the layers of the self-attention.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    vectors = F.silu(net.time(embed(times, net.widths[0]).to(text.dtype)))
    tables = [block.time(vectors) + block.conv1.bias for block in net.res]
    pairs = []
    for cross in (att.own for att in net.att):
        pairs.append((cross.heads(cross.k(text)), cross.heads(cross.v(text))))
    return tables, pairs
