# verdict: wrong-value
# Use the simple plan, which has no strides.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    plan = cufft.create()
    cufft.make_plan1d(plan, n, Type.R2C, channels)
    cufft.exec_r2c(plan, x.data_ptr(), out.data_ptr())  # <- here
    cufft.destroy(plan)
