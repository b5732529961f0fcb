# verdict: wrong-value
# Every rank adds what the rank at this distance has, and the ranks form a ring.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    distance = 1
    while distance < size:
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x, (rank + distance) % size),
                dist.P2POp(dist.irecv, arrived, (rank - distance) % size),  # <- here
            ]
        )
        for work in works:
            work.wait()
        x += arrived
        distance *= 2
