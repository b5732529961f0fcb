# verdict: wrong-value
# Halves go in; but every second sample is taken for the text.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both[::2], both[1::2]
    return nothing + scale * (something - nothing)
