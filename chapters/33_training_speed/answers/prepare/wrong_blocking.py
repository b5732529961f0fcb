# verdict: synchronisation
# Copy bytes, but wait for the copy.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images, flips = images.to(device), flips.to(device)  # <- here
    batch = (images.float() / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-1), batch)
