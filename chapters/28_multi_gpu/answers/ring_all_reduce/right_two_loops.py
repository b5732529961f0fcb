# verdict: pass
# Two loops, and chunks of equal length except for the last.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    n = -(-len(x) // size)
    cut = [slice(min(k * n, len(x)), min((k + 1) * n, len(x))) for k in range(size)]
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        out, into = cut[(rank - step) % size], cut[(rank - step - 1) % size]
        arrived = torch.empty_like(x[into])
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x[out], right),
                dist.P2POp(dist.irecv, arrived, left),
            ]
        )
        for work in works:
            work.wait()
        x[into] += arrived
    for step in range(size - 1):
        out, into = cut[(rank + 1 - step) % size], cut[(rank - step) % size]
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x[out], right),
                dist.P2POp(dist.irecv, x[into], left),
            ]
        )
        for work in works:
            work.wait()
