# verdict: precision
# Enter autocast without a dtype; but on a GPU that is float16.
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
        with torch.autocast(device.type):  # <- here
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LONGEST)
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)
