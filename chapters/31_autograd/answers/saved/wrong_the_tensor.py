# verdict: answer
# Return the tensor, not its numbers.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.memory.version

    def give_back():
        if tensor.memory.version != version:
            raise RuntimeError("modified in place")
        return tensor

    return give_back  # <- here
