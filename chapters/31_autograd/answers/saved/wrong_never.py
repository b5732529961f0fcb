# verdict: answer
# Give the numbers back, whatever has happened.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    return lambda: tensor.data  # <- here
