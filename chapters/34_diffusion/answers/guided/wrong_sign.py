# verdict: wrong-value
# Take the difference the other way around.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (nothing - something)
