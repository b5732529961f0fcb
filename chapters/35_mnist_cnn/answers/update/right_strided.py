# verdict: pass
# A grid-stride loop over parameters, with the new value in a variable.
@cuda.jit
def update(conv, sums, rate, steps, theta, w2, counter):
    """Take a step of SGD, one thread per parameter."""
    split = conv.shape[1]
    for c in range(cuda.grid(1), theta.size, cuda.gridsize(1)):
        value = float32(0)
        if c >= split:
            for k in range(len(sums)):
                value += sums[k, c - split]
        else:
            for k in range(len(conv)):
                value += conv[k, c]
        value = theta[c] - rate * value
        theta[c] = value
        if c < w2.shape[0]:
            w2[c] = bf16_bits(value)
    if cuda.grid(1) == 0:
        following = counter[0] + 1
        counter[0] = 0 if following == steps else following
