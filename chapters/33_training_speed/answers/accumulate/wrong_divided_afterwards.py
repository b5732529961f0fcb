# verdict: wrong-value
# Divide what has added up by the number of parts.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    total = 0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.detach()
    for parameter in model.parameters():
        parameter.grad /= len(parts)
    return total / len(parts)
