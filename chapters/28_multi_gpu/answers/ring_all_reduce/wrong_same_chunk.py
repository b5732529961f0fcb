# verdict: wrong-value
# Receive into the chunk that has just been sent.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        give = chunks[(rank - step) % size]
        arrived = torch.empty_like(give)
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, give, (rank + 1) % size),
                dist.P2POp(dist.irecv, arrived, (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()
        if step < size - 1:
            give += arrived
        else:
            give.copy_(arrived)
