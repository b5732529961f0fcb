# verdict: pass
# The version as a default argument, and memory kept by itself.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives its numbers back."""
    def give_back(memory=tensor.memory, version=tensor.memory.version):
        if memory.version == version:
            return tensor.data
        raise RuntimeError("modified in place")

    return give_back
