# verdict: synchronisation
# The starter.
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    mean, std = mean.cpu(), std.cpu()
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    losses = []
    for images, labels, flips in batches:
        images = (images.float() / 255 - mean) / std
        for k in range(len(images)):
            if flips[k]:
                images[k] = images[k].flip(-1)
        images, labels = images.to(device), labels.to(device)

        optimiser.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        total = 0.0
        for parameter in model.parameters():
            total += parameter.grad.norm().item() ** 2
        if total**0.5 > LONGEST:
            for parameter in model.parameters():
                parameter.grad.mul_(LONGEST / total**0.5)
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses)
