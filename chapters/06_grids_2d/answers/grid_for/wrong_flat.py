# verdict: launch
# It is the number of threads that counts.
def grid_for(rows, cols):
    """Return (grid, block), two pairs, with a thread for each pixel."""
    return -(-rows * cols // 256), 256  # <- here
