# verdict: traffic
# Names device and dtype in one call: the host converts before it copies.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised and in part mirrored."""
    batch = images.to(device, torch.float32, non_blocking=True)  # <- here
    flips = flips.to(device, non_blocking=True)
    batch = (batch / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-1), batch)
