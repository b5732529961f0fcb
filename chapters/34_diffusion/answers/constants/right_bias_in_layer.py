# verdict: pass
# Add the two biases first, and call one linear function.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    x = embed(times, net.widths[0])
    vectors = F.silu(net.time(x))
    tables = []
    for block in net.res:
        bias = block.time.bias + block.conv1.bias
        tables.append(F.linear(vectors, block.time.weight, bias))
    pairs = []
    for att in net.att:
        both = []
        for layer in (att.cross.k, att.cross.v):
            n, tokens, _ = text.shape
            y = layer(text).view(n, tokens, -1, att.cross.head)
            both.append(y.transpose(1, 2))
        pairs.append(both)
    return tables, pairs
