# verdict: answer
# I forgot the offset.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    rounds, rest = divmod(i, 4 * threads)
    return rest % threads, rounds, rest // threads  # <- here
