# verdict: pass
# Clip with the function of exercise 2, which loops over the gradients.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([each.norm() for each in gradients]).norm()
    factor = (most / norm).clamp(max=1)
    for each in gradients:
        each.mul_(factor)
    return norm


def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    model.to(memory_format=CHANNELS_LAST)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM, fused=True)
    losses = []
    for images, labels, flips in batches:
        images = images.to(device, non_blocking=True)
        flips = flips.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        images = (images.float() / 255 - mean) / std
        images = torch.where(flips.view(-1, 1, 1, 1), images.flip(-1), images)
        images = images.contiguous(memory_format=CHANNELS_LAST)

        optimiser.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        clip_([parameter.grad for parameter in model.parameters()], LONGEST)
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)
