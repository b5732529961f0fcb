# verdict: wrong-value
# Repeat each latent and time; the texts come one batch after the other.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.cat([text, empty.expand_as(text)])
    y = model(x.repeat_interleave(2, 0), t.repeat_interleave(2, 0), texts)
    with_text, without = y.chunk(2)
    return without + scale * (with_text - without)
