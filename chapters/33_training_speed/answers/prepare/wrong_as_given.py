# verdict: synchronisation
# The starter: everything on the host, and float32 over the bus.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    batch = (images.float() / 255 - mean.cpu()) / std.cpu()
    for k in range(len(batch)):
        if flips[k]:
            batch[k] = batch[k].flip(-1)
    return batch.to(device)
