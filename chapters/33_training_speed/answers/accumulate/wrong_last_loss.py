# verdict: wrong-value
# Return the loss of the last part.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((y != -100).sum() for x, y in parts)
    total = 0.0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total = loss.detach()
    return total
