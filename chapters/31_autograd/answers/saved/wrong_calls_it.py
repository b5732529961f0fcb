# verdict: answer
# Call the function at once.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.memory.version

    def give_back():
        if tensor.memory.version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back()  # <- here
