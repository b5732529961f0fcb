# verdict: exception
# `chunk` and `tensor_split` do the same.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.chunk(size)
    for step in range(2 * (size - 1)):
        give, take = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]  # <- here
        arrived = torch.empty_like(take)
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, give, (rank + 1) % size),
                dist.P2POp(dist.irecv, arrived, (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()
        take.copy_(arrived + take if step < size - 1 else arrived)
