# verdict: operators
# The arithmetic has moved, but the loop over images has stayed.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    batch = (images.float() / 255 - mean) / std
    for k in range(len(batch)):
        if flips[k]:
            batch[k] = batch[k].flip(-1)  # <- here
    return batch
