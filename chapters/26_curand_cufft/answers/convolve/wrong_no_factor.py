# verdict: wrong-value
# I forgot the factor.
def convolve(x, w, out):
    """Write the full convolution of each row of x with w into out."""
    (batch, n), (_, k) = x.shape, w.shape
    size = good_size(n + k - 1)
    there = planned(Type.R2C, size, batch)
    filtering = planned(Type.R2C, size, 1)
    back = planned(Type.C2R, size, batch)

    padded, taps = zeros(batch, size), zeros(1, size)
    spectrum = zeros(batch, size // 2 + 1, dtype=torch.complex64)
    response = zeros(1, size // 2 + 1, dtype=torch.complex64)
    copy_corner(x, padded)
    copy_corner(w, taps)

    cufft.exec_r2c(there, padded.data_ptr(), spectrum.data_ptr())
    cufft.exec_r2c(filtering, taps.data_ptr(), response.data_ptr())
    multiply(spectrum, response)
    cufft.exec_c2r(back, spectrum.data_ptr(), padded.data_ptr())  # <- here
    copy_corner(padded, out)

    for plan in (there, filtering, back):
        cufft.destroy(plan)
