# verdict: answer
# After `threads` elements, the next counter comes.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    return i % threads, offset // 4 + i // threads, 0  # <- here
