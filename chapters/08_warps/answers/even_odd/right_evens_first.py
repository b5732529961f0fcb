# verdict: pass
# The first threads take all even elements, the next all odd ones.
@cuda.jit
def even_odd(x, table, out):
    t = cuda.grid(1)
    evens = (x.size + 1) // 2
    odds = x.size // 2
    if t < evens:
        out[2 * t] = rise(x[2 * t], table)
    elif t - evens < odds:
        j = t - evens
        out[2 * j + 1] = fold(x[2 * j + 1], table)
