# verdict: wrong-value
# On the way down, the first distance is half the number of ranks.
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
    distance = size // 2
    while distance > 0:
        if rank % (2 * distance) == distance:
            dist.recv(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.send(x, rank + distance)
        distance //= 2
