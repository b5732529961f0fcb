# verdict: held
# Put the parts together again, which is right, but saves no memory.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    x = torch.cat([x for x, _ in parts])
    y = torch.cat([y for _, y in parts])
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss.detach()
