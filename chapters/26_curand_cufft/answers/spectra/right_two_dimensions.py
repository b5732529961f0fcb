# verdict: pass
# A transform of two dimensions, of which one has size 1.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    half = n // 2 + 1
    plan = cufft.create()
    try:
        cufft.make_plan_many(
            plan, 2, [1, n], [1, n], x.stride(0), 1, [1, half], 1, half, Type.R2C,
            channels,
        )
        cufft.exec_r2c(plan, x.data_ptr(), out.data_ptr())
    finally:
        cufft.destroy(plan)
