# verdict: wrong-value
# No message closes the ring between the two ends.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    ops = []
    if rank + 1 < size:
        ops.append(dist.P2POp(dist.isend, x, rank + 1))
    if rank > 0:
        ops.append(dist.P2POp(dist.irecv, out, rank - 1))
    for work in dist.batch_isend_irecv(ops):
        work.wait()
