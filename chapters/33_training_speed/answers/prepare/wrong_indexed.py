# verdict: synchronisation
# Indexing with a mask: how long the result is depends on values.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised and in part mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    batch[flips] = batch[flips].flip(-1)  # <- here
    return batch
