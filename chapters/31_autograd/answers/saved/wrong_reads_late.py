# verdict: answer
# Read the version when the numbers are asked for.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    def give_back():
        version = tensor.memory.version
        if tensor.memory.version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back  # <- here
