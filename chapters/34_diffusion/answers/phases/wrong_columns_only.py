# verdict: shape
# Merge the rows, and leave three columns.
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    top, middle, bottom = weight.unbind(2)
    one = torch.stack([top, middle + bottom], 2)
    two = torch.stack([top + middle, bottom], 2)
    return torch.stack([one, one, two, two]).unflatten(0, (2, 2))
