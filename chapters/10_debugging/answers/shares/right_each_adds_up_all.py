# verdict: pass
# Every thread adds up all elements, so no thread has to wait.
diagnosis = "k"


@cuda.jit
def shares(x, total, out):
    i = cuda.grid(1)
    s = float32(0)
    for k in range(x.size):
        s += x[k]
    if i == 0:
        total[0] = s
    if i < x.size:
        out[i] = x[i] / s
