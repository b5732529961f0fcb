# verdict: steps
# Even ranks start with the send, odd ranks with the receive; but in turn.
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    rank, size = dist.get_rank(), dist.get_world_size()

    if rank % 2 == 0:
        works = [dist.isend(x, (rank + 1) % size)]
        works.append(dist.irecv(out, (rank - 1) % size))
    else:
        works = [dist.irecv(out, rank - 1)]
        works.append(dist.isend(x, (rank + 1) % size))
    for work in works:
        work.wait()
