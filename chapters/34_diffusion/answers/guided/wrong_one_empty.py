# verdict: exception
# One empty text is enough for the whole batch.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty[None], text])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
