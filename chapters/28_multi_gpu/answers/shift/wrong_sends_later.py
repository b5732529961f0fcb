# verdict: deadlock
# Start receiving, then send, which blocks.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    receiving = dist.irecv(out, src=rank - 1 if rank else size - 1)  # <- here
    dist.send(x, dst=(rank + 1) % size)  # <- here
    receiving.wait()
