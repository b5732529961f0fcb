# verdict: answer
# Every element has its own subsequence.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    return i, offset // 4, 0  # <- here
