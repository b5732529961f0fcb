# verdict: pass
# Keep both halves of a sample next to each other, all the way through.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    texts = torch.stack([empty.expand_as(text), text], 1).flatten(0, 1)
    both = model(x.repeat_interleave(2, 0), t.repeat_interleave(2), texts)
    nothing, something = both[0::2], both[1::2]
    return (1 - scale) * nothing + scale * something
