# verdict: wrong-value
# A spectrum has as many numbers as the signal.
def convolve(x, w, out):
    """Write the full convolution of each row of x with w into out."""
    (batch, n), (_, k) = x.shape, w.shape
    size = good_size(n + k - 1)
    signal, taps = zeros(batch, size), zeros(1, size)
    copy_corner(x, signal)
    copy_corner(w, taps)
    of_signal = zeros(batch, size, dtype=torch.complex64)
    of_taps = zeros(1, size, dtype=torch.complex64)

    there = planned(Type.R2C, size, batch)
    once = planned(Type.R2C, size, 1)
    back = planned(Type.C2R, size, batch)
    cufft.exec_r2c(there, signal.data_ptr(), of_signal.data_ptr())
    cufft.exec_r2c(once, taps.data_ptr(), of_taps.data_ptr())
    multiply(of_signal, of_taps, 1 / size)
    cufft.exec_c2r(back, of_signal.data_ptr(), signal.data_ptr())
    copy_corner(signal, out)
    for plan in (there, once, back):
        cufft.destroy(plan)
