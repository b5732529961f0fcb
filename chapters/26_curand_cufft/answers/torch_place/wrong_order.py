# verdict: answer
# The counter comes first.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    rounds, rest = divmod(i, 4 * threads)
    return offset // 4 + rounds, rest % threads, rest // threads  # <- here
