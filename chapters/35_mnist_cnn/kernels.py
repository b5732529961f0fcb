"""The kernels of the plain network that the learner does not write."""

import math

from numba import cuda, float32, int16, int32

from weft.intrinsics import bf16_pair

THREADS = 64
EPS = 1e-5


def blocks(count):
    """Return a launch of at least `count` threads."""
    return -(-count // THREADS), THREADS


@cuda.jit(device=True)
def block_sum(value, cells):
    """Return the sum of `value` over the block; cells: a number per thread."""
    t = cuda.threadIdx.x
    cells[t] = value
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            cells[t] += cells[t + width]
        cuda.syncthreads()
        width //= 2
    total = cells[0]
    cuda.syncthreads()
    return total


@cuda.jit
def norm_forward(x, gamma, beta, y, mean, scale):
    """Normalise each column of x (m, c), a block for each."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = float32(x.shape[0])

    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += x[i, c]
    centre = block_sum(mine, cells) / m
    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += (x[i, c] - centre) ** 2
    by = float32(1) / math.sqrt(block_sum(mine, cells) / m + float32(EPS))

    for i in range(t, x.shape[0], THREADS):
        y[i, c] = gamma[c] * (x[i, c] - centre) * by + beta[c]
    if t == 0:
        mean[c] = centre
        scale[c] = by


@cuda.jit
def load_images(data, order, first, x):
    """Normalise images order[first], order[first + 1], ... into x."""
    at = cuda.grid(1)
    if at < x.size:
        size = x.shape[1] * x.shape[2]
        n, pixel = at // size, at % size
        image = order[first + n]
        value = float32(data[image, pixel // x.shape[2], pixel % x.shape[2]])
        value = value * float32(1 / 255 / 0.3081) - float32(0.1307 / 0.3081)
        x[n, pixel // x.shape[2], pixel % x.shape[2], 0] = value


@cuda.jit
def load_labels(labels, order, first, out):
    n = cuda.grid(1)
    if n < out.size:
        out[n] = labels[order[first + n]]


@cuda.jit
def conv_bias(x, w, b, y):
    """Convolve, with a frame of zeros, and add the bias: x (n, h, w, c)."""
    at = cuda.grid(1)
    if at < y.size:
        f = at % y.shape[3]
        rest = at // y.shape[3]
        j = rest % y.shape[2]
        i = rest // y.shape[2] % y.shape[1]
        n = rest // y.shape[2] // y.shape[1]
        found = b[f]
        for tap in range(9):
            row, col = i + tap // 3 - 1, j + tap % 3 - 1
            if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                for c in range(x.shape[3]):
                    found += x[n, row, col, c] * w[f, tap // 3, tap % 3, c]
        y[n, i, j, f] = found


@cuda.jit
def add_parts(parts, out):
    """Add the rows of parts (slices, m), in order."""
    at = cuda.grid(1)
    if at < out.size:
        found = float32(0)
        for k in range(parts.shape[0]):
            found += parts[k, at]
        out[at] = found


@cuda.jit
def to_words(x, words):
    """Round x, (2 m,), to bfloat16: (m,) words of two numbers."""
    at = cuda.grid(1)
    if at < words.size:
        words[at] = bf16_pair(x[2 * at], x[2 * at + 1])


@cuda.jit
def unpool(dy, won, dx):
    """Send each gradient to the pixel that won; all others get 0."""
    at = cuda.grid(1)
    if at < dy.size:
        c = at % dy.shape[3]
        rest = at // dy.shape[3]
        j = rest % dy.shape[2]
        i = rest // dy.shape[2] % dy.shape[1]
        n = rest // dy.shape[2] // dy.shape[1]
        for pixel in range(4):
            down, right = pixel // 2, pixel % 2
            mine = won[n, i, j, c] == pixel
            value = dy[n, i, j, c] if mine else float32(0)
            dx[n, 2 * i + down, 2 * j + right, c] = value


@cuda.jit
def conv_data(dy, w, dx):
    """Write the gradient of the images of a convolution."""
    at = cuda.grid(1)
    if at < dx.size:
        c = at % dx.shape[3]
        rest = at // dx.shape[3]
        j = rest % dx.shape[2]
        i = rest // dx.shape[2] % dx.shape[1]
        n = rest // dx.shape[2] // dx.shape[1]
        found = float32(0)
        for tap in range(9):
            p, q = tap // 3, tap % 3
            above, left = i - p + 1, j - q + 1
            if 0 <= above < dy.shape[1] and 0 <= left < dy.shape[2]:
                for f in range(dy.shape[3]):
                    found += dy[n, above, left, f] * w[f, p, q, c]
        dx[n, i, j, c] = found


@cuda.jit
def column_sums(x, out):
    """Sum the columns of x (m, c), a block for each."""
    cells = cuda.shared.array(THREADS, float32)
    c, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for i in range(t, x.shape[0], THREADS):
        mine += x[i, c]
    total = block_sum(mine, cells)
    if t == 0:
        out[c] = total


@cuda.jit
def linear(x, w, b, y, cut):
    """y = x @ w.T + b, and ReLU where `cut` says so."""
    at = cuda.grid(1)
    if at < y.size:
        n, m = at // y.shape[1], at % y.shape[1]
        found = b[m]
        for k in range(x.shape[1]):
            found += x[n, k] * w[m, k]
        if cut and found < float32(0):
            found = float32(0)
        y[n, m] = found


@cuda.jit
def linear_data(dy, w, y, dx, cut):
    """dx = dy @ w; where `cut`, 0 for those whose ReLU, y, was 0."""
    at = cuda.grid(1)
    if at < dx.size:
        n, k = at // dx.shape[1], at % dx.shape[1]
        found = float32(0)
        for m in range(dy.shape[1]):
            found += dy[n, m] * w[m, k]
        if cut and y[n, k] == float32(0):
            found = float32(0)
        dx[n, k] = found


@cuda.jit
def linear_weights(x, dy, dw):
    """dw = dy.T @ x."""
    at = cuda.grid(1)
    if at < dw.size:
        m, k = at // dw.shape[1], at % dw.shape[1]
        found = float32(0)
        for image in range(x.shape[0]):
            found += dy[image, m] * x[image, k]
        dw[m, k] = found


@cuda.jit
def loss_gradient(z, labels, loss, dz):
    """Write the loss of each row, and the gradient of the mean loss: z (n, k)."""
    row = cuda.grid(1)
    if row < z.shape[0]:
        top = z[row, 0]
        for k in range(1, z.shape[1]):
            top = max(top, z[row, k])
        total = float32(0)
        for k in range(z.shape[1]):
            total += math.exp(z[row, k] - top)
        loss[row] = math.log(total) + top - z[row, labels[row]]
        for k in range(z.shape[1]):
            p = math.exp(z[row, k] - top) / total
            if k == labels[row]:
                p -= float32(1)
            dz[row, k] = p / float32(z.shape[0])


@cuda.jit
def sgd(parameter, gradient, rate):
    at = cuda.grid(1)
    if at < parameter.size:
        parameter[at] -= rate * gradient[at]


@cuda.jit(device=True)
def word_at(x, n, row, col, word):
    """Return two channels of a pixel, zeros outside of the image."""
    if row < 0 or row >= x.shape[1] or col < 0 or col >= x.shape[2]:
        return int32(0)
    return x[n, row, col, word]


@cuda.jit(device=True)
def clear(sums):
    """Set the sums of both products to zero."""
    for cell in range(4):
        sums[0, cell] = float32(0)
        sums[1, cell] = float32(0)


@cuda.jit(device=True)
def hidden_units(part, b, n, h):
    """Finish the hidden layer for image n: four units per lane, from 4 lane on.

    part: (slices, n, 128), sums that are still to be added; b: the biases. Writes h.
    """
    first = int32(4) * int32(cuda.threadIdx.x)
    for e in range(4):
        h[e] = b[first + e]
        for k in range(part.shape[0]):
            h[e] += part[k, n, first + e]
        h[e] = max(h[e], float32(0))


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of `value` over the 32 lanes of a warp, to each of them."""
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, delta)
    return value


@cuda.jit(device=True)
def bf16_bits(value):
    """Return the bits of a number rounded to bfloat16, as an int16."""
    return int16(bf16_pair(value, float32(0)) & int32(0xFFFF))
