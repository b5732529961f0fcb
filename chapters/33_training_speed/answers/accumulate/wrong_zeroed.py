# verdict: wrong-value
# Clear the gradients between the parts.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((y != -100).sum() for _, y in parts)
    total = 0
    for x, y in parts:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.detach()
    return total
