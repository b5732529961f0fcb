# verdict: wrong-value
# Cut out parts of the weights instead of adding.
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    parts = [weight[:, :, a : a + 2, b : b + 2] for a in range(2) for b in range(2)]
    return torch.stack(parts).unflatten(0, (2, 2))
