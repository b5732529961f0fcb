# verdict: pass
# The ring in the other direction.
def ring_all_reduce(dist, x):
    """Replace x on every rank by the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = torch.tensor_split(x, size)
    for step in range(2 * size - 2):
        give, take = chunks[(rank + step) % size], chunks[(rank + step + 1) % size]
        came = torch.zeros_like(take)
        works = [
            dist.irecv(came, (rank + 1) % size),
            dist.isend(give, (rank - 1) % size),
        ]
        for work in works:
            work.wait()
        if step < size - 1:
            take.add_(came)
        else:
            take.copy_(came)
