"""The kernels of the plain network that the learner does not write."""

import math

from numba import cuda, float32, int32

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
