# verdict: wrong-value
# Mirror top and bottom.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-2), batch)  # <- here
