# verdict: wrong-value
# The copy is the number as an integer.
@cuda.jit
def update(conv, sums, rate, steps, theta, w2, counter):
    """Take a step of SGD, one thread per parameter."""
    c = cuda.grid(1)

    if c < theta.size:
        gradient = float32(0)
        if c < conv.shape[1]:
            for k in range(conv.shape[0]):
                gradient += conv[k, c]
        else:
            for k in range(sums.shape[0]):
                gradient += sums[k, c - conv.shape[1]]
        theta[c] -= rate * gradient
        if c < w2.size:
            w2[c] = int32(theta[c])
    if c == 0:
        counter[0] = (counter[0] + 1) % steps
