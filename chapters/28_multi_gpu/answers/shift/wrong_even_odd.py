# verdict: steps
# Even ranks send first, so there is no deadlock; but it takes two or three steps.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    if rank % 2 == 0:
        dist.send(x, (rank + 1) % size)
        dist.recv(out, (rank - 1) % size)
    else:
        dist.recv(out, (rank - 1) % size)
        dist.send(x, (rank + 1) % size)
