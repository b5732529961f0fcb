# verdict: wrong-value
# Put the text first, but take the first half for the empty text.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([text, empty.expand_as(text)])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
