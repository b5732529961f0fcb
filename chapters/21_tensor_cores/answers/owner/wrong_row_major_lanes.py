# verdict: wrong-value
# Lanes count down a column first, which has eight rows.
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    if matrix == "b":
        return 4 * col + row % 8 // 2, row // 8 * 2 + row % 2
    lane = row % 8 + 8 * (col % 8 // 2)
    number = row // 8 * 2 + col % 2
    if matrix == "a":
        number += col // 8 * 4
    return lane, number
    # END SOLUTION
