# verdict: pass
# The version is a default argument, and so is the memory.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    def give_back(memory=tensor.memory, version=tensor.memory.version):
        if memory.version == version:
            return tensor.data
        raise RuntimeError("modified in place")

    return give_back
