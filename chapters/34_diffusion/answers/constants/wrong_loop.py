# verdict: operators
# One step after another; but then the loop has only been moved.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    tables = [[] for _ in net.res]
    for t in times:
        vector = F.silu(net.time(embed(t[None], net.widths[0])))
        for table, block in zip(tables, net.res):
            table.append(block.time(vector)[0] + block.conv1.bias)
    pairs = []
    for att in net.att:
        k, v = att.cross.k(text), att.cross.v(text)
        pairs.append((att.cross.heads(k), att.cross.heads(v)))
    return [torch.stack(table) for table in tables], pairs
