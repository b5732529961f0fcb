# verdict: operators
# The arithmetic has moved, the loop over images has stayed.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised and in part mirrored."""
    images = images.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    for k in range(len(batch)):
        if flips[k]:
            batch[k] = batch[k].flip(-1)  # <- here
    return batch
