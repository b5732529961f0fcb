# verdict: buffer
# The receive is awaited, the send is not.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    dist.isend(x, (rank + 1) % size)  # <- here
    dist.recv(out, (rank - 1) % size)
