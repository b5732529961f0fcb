# verdict: pass
# Unravel the index in a shape of (rounds, words, threads).
def torch_place(i, threads, offset):
    """Return (subsequence, counter, word) of element i of torch.rand."""
    rounds = i // (4 * threads) + 1
    place = np.unravel_index(i, (rounds, 4, threads))
    return int(place[2]), offset // 4 + int(place[0]), int(place[1])
