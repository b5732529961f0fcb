# verdict: steps
# A chain there and back, which is right, but takes 2 (p − 1) steps.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    arrived = torch.empty_like(x)
    if rank > 0:
        dist.recv(arrived, rank - 1)
        x += arrived
    if rank < size - 1:
        dist.send(x, rank + 1)
        dist.recv(x, rank + 1)
    if rank > 0:
        dist.send(x, rank - 1)
