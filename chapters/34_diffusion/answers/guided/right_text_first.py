# verdict: pass
# The text comes first, also in the formula.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    n = len(x)
    texts = torch.cat([text, empty.repeat(n, 1, 1)])
    both = model(x.repeat(2, 1, 1, 1), t.repeat(2), texts)
    return torch.lerp(both[n:], both[:n], scale)
