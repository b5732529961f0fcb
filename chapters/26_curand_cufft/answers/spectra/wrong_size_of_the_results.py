# verdict: wrong-value
# The plan's size is that of the results.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    half = n // 2 + 1
    layout = [n], x.stride(0), x.stride(1), [half], 1, half
    plan = cufft.create()
    cufft.make_plan_many(plan, 1, [half], *layout, Type.R2C, channels)
    cufft.exec_r2c(plan, x.data_ptr(), out.data_ptr())
    cufft.destroy(plan)
