# verdict: wrong-value
# Clear the gradients at the beginning; but they include those of earlier parts.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    model.zero_grad()
    count = sum((y != -100).sum() for _, y in parts)
    total = 0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.detach()
    return total
