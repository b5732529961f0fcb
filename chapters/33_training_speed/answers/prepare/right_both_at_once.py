# verdict: pass
# Name device and dtype in one call that does not block; the GPU then converts.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    batch = images.to(device, torch.float32, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (batch / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-1), batch)
