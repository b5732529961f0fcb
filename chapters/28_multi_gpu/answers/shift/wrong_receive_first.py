# verdict: deadlock
# Every rank waits for its neighbour before it sends.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    dist.recv(out, (rank - 1) % size)  # <- here
    dist.send(x, (rank + 1) % size)
