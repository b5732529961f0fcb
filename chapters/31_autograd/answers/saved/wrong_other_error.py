# verdict: answer
# Raise another kind of error.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.memory.version

    def give_back():
        assert tensor.memory.version == version, "modified in place"
        return tensor.data

    return give_back  # <- here
