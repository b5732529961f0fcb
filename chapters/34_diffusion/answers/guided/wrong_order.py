# verdict: wrong-value
# Text first, and the halves taken for the other way round.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([text, empty.expand_as(text)])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
