# verdict: synchronisation
# The mask is on the device; but Python asks for each of its elements.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    for k in range(len(batch)):
        if flips[k]:  # <- here
            batch[k] = batch[k].flip(-1)
    return batch
