# verdict: wrong-value
# The mask gets as many dimensions as an image.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    return torch.where(flips[:, None, None], batch.flip(-1), batch)
