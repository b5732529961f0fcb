# verdict: answer
# Divide with /.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    return i % threads, offset / 4 + i // (4 * threads), i // threads % 4  # <- here
