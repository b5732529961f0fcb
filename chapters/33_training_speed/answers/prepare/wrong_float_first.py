# verdict: traffic
# Convert before the copy; but that is four times the bytes.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.float().to(device, non_blocking=True)  # <- here
    flips = flips.to(device, non_blocking=True)
    batch = (images / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-1), batch)
