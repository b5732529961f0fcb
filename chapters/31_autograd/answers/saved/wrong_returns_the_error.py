# verdict: answer
# Return the error instead of raising it.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.memory.version

    def get():
        if tensor.memory.version != version:
            return RuntimeError("modified in place")
        return tensor.data

    return get
