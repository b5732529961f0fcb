# verdict: wrong-value
# Embed the number of the step, not its time.
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    vectors = F.silu(net.time(embed(torch.arange(len(times), device=times.device), net.widths[0])))
    tables = [block.time(vectors) + block.conv1.bias for block in net.res]
    pairs = []
    for cross in (att.cross for att in net.att):
        pairs.append((cross.heads(cross.k(text)), cross.heads(cross.v(text))))
    return tables, pairs
