# verdict: pass
# Mirror the bytes, and then normalise with the constants multiplied by 255.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    near = images.to(device, non_blocking=True)
    mask = flips[:, None, None, None].to(device, non_blocking=True)
    near = torch.where(mask, near.flip(3), near)
    return near.to(torch.float32).sub_(mean * 255).div_(std * 255)
