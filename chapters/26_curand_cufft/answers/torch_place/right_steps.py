# verdict: pass
# Subtract until the thread is found.
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    counter, word = offset // 4, 0
    while i >= threads:
        i -= threads
        word += 1
        if word == 4:
            word = 0
            counter += 1
    return i, counter, word
