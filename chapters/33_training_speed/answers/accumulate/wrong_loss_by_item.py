# verdict: synchronisation
# Everything is right; but the log costs one wait per part.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((y != -100).sum() for _, y in parts)
    total = 0.0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward()
        total += loss.item()  # <- here
    return torch.tensor(total)
