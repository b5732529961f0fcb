# verdict: answer
# Ask PyTorch for the version; but our kernels do not raise it.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    version = tensor.data._version

    def give_back():
        if tensor.data._version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back  # <- here
