# verdict: precision
# The weights themselves become bfloat16, and the loss with them.
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    model.to(torch.bfloat16, memory_format=CHANNELS_LAST)  # <- here
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
        loss = F.cross_entropy(model(images.bfloat16()), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LONGEST)
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)
