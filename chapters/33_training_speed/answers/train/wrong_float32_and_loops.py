# verdict: precision
# No autocast, and an optimiser that loops: autocast has to be fixed first.
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    model.to(memory_format=CHANNELS_LAST)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    losses = []
    for images, labels, flips in batches:
        images = images.to(device, non_blocking=True)
        flips = flips.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        images = (images.float() / 255 - mean) / std
        images = torch.where(flips.view(-1, 1, 1, 1), images.flip(-1), images)
        images = images.contiguous(memory_format=CHANNELS_LAST)

        optimiser.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        for gradient in gradients:
            gradient.mul_((LONGEST / norm).clamp(max=1))
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)
