# verdict: sent
# Rank 0 collects, adds and sends back.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    arrived = torch.empty_like(x)
    if rank == 0:
        for other in range(1, size):
            dist.recv(arrived, other)
            x += arrived
        for other in range(1, size):
            dist.send(x, other)
    else:
        dist.send(x, 0)
        dist.recv(x, 0)
