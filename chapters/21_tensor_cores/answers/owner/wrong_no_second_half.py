# verdict: wrong-value
# In b, rows 8 to 15 are numbered like rows 0 to 7.
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    if matrix == "b":
        return 4 * col + row // 2 % 4, row % 4
    lane = 4 * (row % 8) + col % 8 // 2
    number = row // 8 * 2 + col % 2
    if matrix == "a":
        number += col // 8 * 4
    return lane, number
    # END SOLUTION
