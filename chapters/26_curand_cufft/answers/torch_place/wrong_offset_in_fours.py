# verdict: answer
# The offset counts groups of four.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    rounds, rest = divmod(i, 4 * threads)
    return rest % threads, offset + rounds, rest // threads  # <- here
