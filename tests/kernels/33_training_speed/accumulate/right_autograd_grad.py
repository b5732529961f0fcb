# verdict: pass
# Asks for the gradients of each part, and adds them itself.
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    parameters = list(model.parameters())
    count = torch.stack([(y >= 0).sum() for _, y in parts]).sum()
    losses = []
    for x, y in parts:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        for parameter, share in zip(parameters, torch.autograd.grad(loss, parameters)):
            parameter.grad += share
        losses.append(loss.detach())
    return torch.stack(losses).sum()
