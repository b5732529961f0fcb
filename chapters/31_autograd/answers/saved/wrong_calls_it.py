# verdict: answer
# Calls the function at once.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives its numbers back."""
    version = tensor.memory.version

    def give_back():
        if tensor.memory.version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back()  # <- here
