# verdict: synchronisation
# Index with a mask; but the length of the result then depends on values.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    batch[flips] = batch[flips].flip(-1)  # <- here
    return batch
