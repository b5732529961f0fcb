# verdict: wrong-value
# Divide by the number of parts, as if all of them counted the same.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    total = 0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y) / len(parts)
        loss.backward()
        total += loss.detach()
    return total
