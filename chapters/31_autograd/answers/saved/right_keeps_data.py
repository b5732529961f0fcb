# verdict: pass
# Keep the numbers and their memory, and let go of the tensor.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    data, memory = tensor.data, tensor.memory
    kept = memory.version

    def give_back():
        if memory.version > kept:
            raise RuntimeError("modified in place")
        return data

    return give_back
