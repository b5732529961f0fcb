# verdict: wrong-value
# The texts alternate; but everything else comes in halves.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.stack([empty.expand_as(text), text], 1).flatten(0, 1)
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
