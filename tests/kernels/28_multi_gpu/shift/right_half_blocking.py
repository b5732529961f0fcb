# verdict: pass
# Only the send has to be asynchronous.
def shift(dist, x, out):
    """Receive the previous rank's x in out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    sending = dist.isend(x, (rank + 1) % size)
    dist.recv(out, (rank - 1) % size)
    sending.wait()
