# verdict: exception
# I forgot to copy flips; on a GPU, two devices meet.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    batch = images.to(device, non_blocking=True)
    batch = (batch.float() / 255 - mean) / std
    mask = flips.view(-1, 1, 1, 1)
    return torch.where(mask, batch.flip(-1), batch)  # <- here
