# verdict: held
# Add up the losses as they are; but each of them keeps its graph.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((labels != -100).sum() for _, labels in parts)
    total = 0
    for samples, labels in parts:
        scores = model(samples)
        loss = F.cross_entropy(scores, labels, reduction="sum") / count
        loss.backward()
        total += loss
    return total  # <- here
