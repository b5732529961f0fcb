# verdict: deadlock
# Every rank sends, and then receives.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    dist.send(x, (rank + 1) % size)  # <- here
    dist.recv(out, (rank - 1) % size)
