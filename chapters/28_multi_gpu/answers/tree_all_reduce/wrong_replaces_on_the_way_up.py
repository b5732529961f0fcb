# verdict: wrong-value
# Receive the partner's numbers into x.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, p = dist.get_rank(), dist.get_world_size()
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.recv(x, rank + distance)  # <- here
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == distance:
            dist.recv(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(x, rank + distance)
