# verdict: synchronisation
# Mirror on the host; but the new batch is not in pinned memory.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    mask = flips.view(-1, 1, 1, 1)
    batch = torch.where(mask, images.flip(-1), images)
    batch = batch.to(device, non_blocking=True)  # <- here
    return (batch.float() / 255 - mean) / std
