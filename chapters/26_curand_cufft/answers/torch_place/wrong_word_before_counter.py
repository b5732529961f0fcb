# verdict: answer
# The word comes before the counter.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    rounds, rest = divmod(i, 4 * threads)
    return rest % threads, rest // threads, offset // 4 + rounds  # <- here
