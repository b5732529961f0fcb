# verdict: pass
# Go through all lanes and look.
def owner(matrix, row, col):
    """Return (lane, number) of an element of a fragment of m16n8k16."""
    for lane in range(32):
        g, t = divmod(lane, 4)
        for number in range(8):
            second, third, odd = number // 2 % 2, number // 4, number % 2
            at = {
                "a": (g + 8 * second, 2 * t + odd + 8 * third),
                "b": (2 * t + odd + 8 * second, g),
                "c": (g + 8 * second, 2 * t + odd),
            }
            if at[matrix] == (row, col):
                return lane, number
