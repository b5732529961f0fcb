# verdict: deadlock
# Recursive doubling, in which both ranks of a pair start with the send.
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
        sending = dist.isend(x, rank ^ bit)  # <- here
        dist.recv(arrived, rank ^ bit)  # <- here
        sending.wait()
        x += arrived
        bit <<= 1
    if rank + power < size:
        dist.send(x, rank + power)
