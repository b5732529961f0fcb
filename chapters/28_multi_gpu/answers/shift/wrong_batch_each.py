# verdict: deadlock
# One batch for the send, and one for the receive.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    send = dist.P2POp(dist.isend, x, (rank + 1) % size)  # <- here
    receive = dist.P2POp(dist.irecv, out, (rank - 1) % size)  # <- here
    works = dist.batch_isend_irecv([send]) + dist.batch_isend_irecv([receive])
    for work in works:
        work.wait()
