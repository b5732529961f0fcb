# verdict: wrong-value
# What arrives is always added, on the way down too.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, p = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(x)
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.recv(received, rank + distance)
            x += received
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == distance:
            dist.recv(received, rank - distance)  # <- here
            x += received
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(x, rank + distance)
