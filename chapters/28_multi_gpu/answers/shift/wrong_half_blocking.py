# verdict: deadlock
# Only the send is asynchronous.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    sending = dist.isend(x, (rank + 1) % size)  # <- here
    dist.recv(out, (rank - 1) % size)  # <- here
    sending.wait()
