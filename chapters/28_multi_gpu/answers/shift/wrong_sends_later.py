# verdict: deadlock
# Begins to receive, then sends and blocks.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    receiving = dist.irecv(out, src=rank - 1 if rank else size - 1)  # <- here
    dist.send(x, dst=(rank + 1) % size)  # <- here
    receiving.wait()
