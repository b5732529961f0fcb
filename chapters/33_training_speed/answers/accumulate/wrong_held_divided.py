# verdict: wrong-value
# Divide at the end; but the gradients held before are divided as well.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    count = sum((y != -100).sum() for x, y in parts)
    total = 0.0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum")
        loss.backward()
        total = total + loss.detach()
    for parameter in model.parameters():
        parameter.grad /= count
    return total / count
