# verdict: steps
# Pass the whole tensor around a ring.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    own = x.clone()
    for _ in range(size - 1):  # <- here
        arrived = torch.empty_like(x)
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, own, (rank + 1) % size),
                dist.P2POp(dist.irecv, arrived, (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()
        x += arrived
        own = arrived
