# verdict: answer
# A copy cannot be changed by anyone else.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    numbers = tensor.data.clone()
    return lambda: numbers  # <- here
