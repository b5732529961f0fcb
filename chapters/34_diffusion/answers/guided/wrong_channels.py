# verdict: shape
# Split the channels, not the batch.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2, 1)
    return nothing + scale * (something - nothing)
