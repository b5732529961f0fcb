# verdict: library
# Call the collective itself.
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    dist.all_reduce(x)  # <- here
