# verdict: pass
# Copy into buffers that are on the device.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    batch = torch.empty(images.shape, dtype=torch.uint8, device=device)
    batch.copy_(images, non_blocking=True)
    mask = torch.empty(flips.shape, dtype=torch.bool, device=device)
    mask.copy_(flips, non_blocking=True)
    batch = (batch / 255 - mean) / std
    mask = mask.float().view(-1, 1, 1, 1)
    return batch + mask * (batch.flip(-1) - batch)
