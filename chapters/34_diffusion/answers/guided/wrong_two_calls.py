# verdict: exception
# It is right, but in two calls.
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    nothing = model(x, t, empty.expand_as(text))
    something = model(x, t, text)  # <- here
    return nothing + scale * (something - nothing)
