# verdict: wrong-value
# A tree has log2(p) levels, rounded down.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, p = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(x)
    levels = int(math.log2(p))
    for level in range(levels):
        distance = 2**level
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.recv(received, rank + distance)
            x += received
    for level in reversed(range(levels)):
        distance = 2**level
        if rank % (2 * distance) == distance:
            dist.recv(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(x, rank + distance)
