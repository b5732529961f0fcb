# verdict: wrong-value
# torch.where takes the value for false first.
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    model.to(memory_format=CHANNELS_LAST)
    parameters = list(model.parameters())
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM, fused=True)
    losses = []
    for images, labels, flips in batches:
        images = images.to(device, non_blocking=True)
        flips = flips.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        images = (images.float() / 255 - mean) / std
        flips = flips.view(-1, 1, 1, 1)
        images = torch.where(flips, images, images.flip(-1))
        images = images.contiguous(memory_format=CHANNELS_LAST)

        optimiser.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        gradients = [parameter.grad for parameter in parameters]
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        torch._foreach_mul_(gradients, (LONGEST / norm).clamp(max=1))
        optimiser.step()
        losses += [loss.detach()]
    return torch.stack(losses)
