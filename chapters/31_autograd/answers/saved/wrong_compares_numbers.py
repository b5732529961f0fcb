# verdict: answer
# Keep a copy to compare with.
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    before = tensor.data.clone()

    def give_back():
        if not torch.equal(before, tensor.data):
            raise RuntimeError("modified in place")
        return tensor.data

    return give_back  # <- here
