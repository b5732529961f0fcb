# verdict: steps
# Even ranks send first: no deadlock, and two steps or three.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    if rank % 2 == 0:
        dist.send(x, (rank + 1) % size)
        dist.recv(out, (rank - 1) % size)
    else:
        dist.recv(out, (rank - 1) % size)
        dist.send(x, (rank + 1) % size)
