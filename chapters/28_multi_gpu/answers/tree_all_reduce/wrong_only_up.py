# verdict: wrong-value
# The sum may stay at rank 0.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    arrived = torch.empty_like(x)
    distance = 1
    while distance < size:
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.recv(arrived, rank + distance)
            x += arrived
        distance *= 2
