# verdict: held
# One backward pass at the end; but all graphs are kept until then.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((y != -100).sum() for _, y in parts)
    total = 0
    for x, y in parts:
        total = total + F.cross_entropy(model(x), y, reduction="sum") / count
    total.backward()
    return total.detach()
