# verdict: wrong-value
# The number is that of the register, not of the element.
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    if matrix == "b":
        return 4 * col + row % 8 // 2, row // 8
    lane = 4 * (row % 8) + col % 8 // 2
    number = row // 8
    if matrix == "a":
        number += col // 8 * 2
    return lane, number
    # END SOLUTION
