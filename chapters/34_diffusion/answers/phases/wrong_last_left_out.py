# verdict: wrong-value
# The second phase sees two of the weights: the first and the middle one.
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    top, middle, bottom = weight.unbind(2)
    rows = [(top, middle + bottom), (top, middle)]
    merged = []
    for above, below in rows:
        left, centre, right = torch.stack([above, below], 2).unbind(3)
        merged.append(torch.stack([left, centre + right], 3))
        merged.append(torch.stack([left + centre, right], 3))
    return torch.stack(merged).unflatten(0, (2, 2))
