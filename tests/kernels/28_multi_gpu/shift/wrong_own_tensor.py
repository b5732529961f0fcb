# verdict: buffer
# Receives into the tensor that is being sent.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    sending = dist.isend(x, (rank + 1) % size)  # <- here
    receiving = dist.irecv(x, (rank - 1) % size)
    sending.wait()
    receiving.wait()
    out.copy_(x)
