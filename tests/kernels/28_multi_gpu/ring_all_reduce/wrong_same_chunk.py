# verdict: wrong-value
# Receives into the chunk that it has just sent.
def ring_all_reduce(dist, x):
    """Replace x on every rank by the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        give = chunks[(rank - step) % size]
        arrived = torch.empty_like(give)
        sending = dist.isend(give, (rank + 1) % size)
        dist.recv(arrived, (rank - 1) % size)
        sending.wait()
        if step < size - 1:
            give += arrived
        else:
            give.copy_(arrived)
