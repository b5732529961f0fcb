# verdict: pass
# Recursive doubling; ranks beyond the power of two lend and borrow.
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()

    power = 1 << (size.bit_length() - 1)
    arrived = torch.empty_like(x)
    if rank >= power:
        dist.send(x, rank - power)
        dist.recv(x, rank - power)
        return
    if rank + power < size:
        dist.recv(arrived, rank + power)
        x += arrived
    bit = 1
    while bit < power:
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x, rank ^ bit),
                dist.P2POp(dist.irecv, arrived, rank ^ bit),
            ]
        )
        for work in works:
            work.wait()
        x += arrived
        bit <<= 1
    if rank + power < size:
        dist.send(x, rank + power)
