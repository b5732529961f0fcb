# verdict: answer
# Gives the tensor back, whatever happened.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives its numbers back."""
    return lambda: tensor.data  # <- here
