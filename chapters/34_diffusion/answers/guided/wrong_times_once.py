# verdict: exception
# I forgot that each sample needs its time.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), t, texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
