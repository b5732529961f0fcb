# verdict: message
# One buffer for all steps, as long as the longest chunk.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    chunks = x.tensor_split(size)
    arrived = torch.empty_like(chunks[0])
    for step in range(2 * (size - 1)):
        give, take = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, give, (rank + 1) % size),
                dist.P2POp(dist.irecv, arrived, (rank - 1) % size),  # <- here
            ]
        )
        for work in works:
            work.wait()
        take.copy_(arrived + take if step < size - 1 else arrived)
