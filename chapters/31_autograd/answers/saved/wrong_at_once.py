# verdict: answer
# Compare the versions at once, and return the data.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.memory.version

    if tensor.memory.version != version:
        raise RuntimeError("a tensor kept for the backward pass was changed in place")
    return tensor.data  # <- here
