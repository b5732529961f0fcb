# verdict: answer
# A tensor that was never changed has version 0.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    def give_back():
        if tensor.memory.version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back  # <- here
