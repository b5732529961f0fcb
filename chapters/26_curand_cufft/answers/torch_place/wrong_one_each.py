# verdict: answer
# Every element has a subsequence of its own.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    return i, offset // 4, 0  # <- here
