# verdict: answer
# Four neighbours share one counter, as in cuRAND.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    return i // 4 % threads, offset // 4 + i // (4 * threads), i % 4  # <- here
