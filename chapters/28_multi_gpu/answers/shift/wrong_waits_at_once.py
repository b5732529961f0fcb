# verdict: deadlock
# Use isend, but wait for it at once.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    dist.isend(x, (rank + 1) % size).wait()  # <- here
    dist.irecv(out, (rank - 1) % size).wait()
