# verdict: synchronisation
# Bring the constants to the host and back.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images = images.to(device, non_blocking=True)
    flips = flips.to(device, non_blocking=True)
    mean = torch.tensor(mean.tolist(), device=device)  # <- here
    std = torch.tensor(std.tolist(), device=device)
    batch = (images.float() / 255 - mean) / std
    return torch.where(flips.view(-1, 1, 1, 1), batch.flip(-1), batch)
