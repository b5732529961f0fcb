# verdict: buffer
# The batch does everything.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank = dist.get_rank()
    size = dist.get_world_size()
    ops = [
        dist.P2POp(dist.isend, x, (rank + 1) % size),
        dist.P2POp(dist.irecv, out, (rank - 1) % size),
    ]
    dist.batch_isend_irecv(ops)  # <- here
