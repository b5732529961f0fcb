# verdict: sent
# Sends the whole tensor around: as fast in steps, and p times the bytes.
def ring_all_reduce(dist, x):
    """Replace x on every rank by the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    own = x.clone()
    for step in range(size - 1):  # <- here
        arrived = torch.empty_like(x)
        sending = dist.isend(own, (rank + 1) % size)
        dist.recv(arrived, (rank - 1) % size)
        sending.wait()
        x += arrived
        own = arrived
