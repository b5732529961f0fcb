# verdict: wrong-value
# Sends to the left.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    sending = dist.isend(x, (rank - 1) % size)
    receiving = dist.irecv(out, (rank + 1) % size)
    sending.wait()
    receiving.wait()
