# verdict: pass
# In one dimension, the value of inembed does not matter.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    half = n // 2 + 1
    plan = cufft.create()
    cufft.make_plan_many(
        plan, 1, [n], [1], x.stride(0), 1, [1], out.stride(1), out.stride(0),
        Type.R2C, channels,
    )
    cufft.exec_r2c(plan, x.data_ptr(), out.data_ptr())
    cufft.destroy(plan)
