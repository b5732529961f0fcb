# verdict: answer
# Asks PyTorch for the version, which our kernels do not raise.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives its numbers back."""
    version = tensor.data._version

    def give_back():
        if tensor.data._version != version:
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back  # <- here
