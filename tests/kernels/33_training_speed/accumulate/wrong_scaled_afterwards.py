# verdict: wrong-value
# Divides the gradients at the end, and with them those of earlier parts.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    total = 0
    count = 0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum")
        loss.backward()
        total = total + loss.detach()
        count = count + (y >= 0).sum()
    for parameter in model.parameters():
        parameter.grad /= count
    return total / count
