# verdict: pass
# Mirror by gathering columns.
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    images, flips = (
        each.to(device, non_blocking=True) for each in (images, flips)
    )
    columns = torch.arange(images.shape[-1], device=device)
    index = torch.where(flips[:, None], columns.flip(0), columns)
    index = index[:, None, None, :].expand(images.shape)
    return images.gather(3, index).float().div_(255).sub_(mean).div_(std)
