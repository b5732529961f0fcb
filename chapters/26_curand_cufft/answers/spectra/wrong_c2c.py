# verdict: handle
# The plan is from complex to complex.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    half = n // 2 + 1
    plan = cufft.create()
    cufft.make_plan_many(
        plan, 1, [n], [n], x.stride(0), x.stride(1), [half], 1, half,
        Type.C2C, channels,
    )
    cufft.exec_r2c(plan, x.data_ptr(), out.data_ptr())  # <- here
    cufft.destroy(plan)
