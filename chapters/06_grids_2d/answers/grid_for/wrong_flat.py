# verdict: launch
# Only the number of threads counts.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with one thread for each pixel."""
    return -(-rows * cols // 256), 256  # <- here
