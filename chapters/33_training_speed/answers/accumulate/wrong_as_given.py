# verdict: wrong-value
# The starter: the mean of each part, which is never divided.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    total = 0.0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    return torch.tensor(total / len(parts))
