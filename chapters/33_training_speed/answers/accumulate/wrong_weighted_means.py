# verdict: wrong-value
# Weight the mean of each part; but it is 0/0 if no label of the part counts.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    counts = [(y != -100).sum() for _, y in parts]
    total = 0
    for (x, y), count in zip(parts, counts, strict=True):
        loss = F.cross_entropy(model(x), y) * count / sum(counts)
        loss.backward()
        total += loss.detach()
    return total
