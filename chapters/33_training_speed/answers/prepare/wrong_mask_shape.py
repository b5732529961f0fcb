# verdict: exception
# The mask needs no other shape.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    return torch.where(flips, batch.flip(-1), batch)  # <- here
