# verdict: wrong-value
# Repeat each latent; but the texts come in halves.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(x.repeat_interleave(2, 0), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
