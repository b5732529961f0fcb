# verdict: steps
# Rank 0 collects from all the others, one after another.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    arrived = torch.empty_like(x)
    for other in range(1, size):  # <- here
        dist.recv(arrived, other)
        x += arrived
    for other in range(1, size):
        dist.send(x, other)
