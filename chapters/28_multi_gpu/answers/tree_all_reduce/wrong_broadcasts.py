# verdict: library
# Write the way up, and leave the way down to a collective.
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
    dist.broadcast(x, 0)  # <- here
