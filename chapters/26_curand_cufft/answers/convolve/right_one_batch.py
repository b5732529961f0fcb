# verdict: pass
# The signals and the filter are one batch of real transforms.
def convolve(x, w, out):
    """Write the full convolution of each row of x with w into out."""
    (batch, n), (_, k) = x.shape, w.shape
    size = good_size(n + k - 1)
    half = size // 2 + 1
    padded = zeros(batch + 1, size)
    spectrum = zeros(batch + 1, half, dtype=torch.complex64)
    copy_corner(x, padded)
    copy_corner(w, padded[batch:])

    there = planned(Type.R2C, size, batch + 1)
    cufft.exec_r2c(there, padded.data_ptr(), spectrum.data_ptr())
    cufft.destroy(there)
    multiply(spectrum[:batch], spectrum[batch:], 1 / size)
    back = planned(Type.C2R, size, batch)
    cufft.exec_c2r(back, spectrum.data_ptr(), padded.data_ptr())
    cufft.destroy(back)
    copy_corner(padded[:batch], out)
