# verdict: wrong-value
# Repeat each time; but the latents come in halves.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), t.repeat_interleave(2), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
