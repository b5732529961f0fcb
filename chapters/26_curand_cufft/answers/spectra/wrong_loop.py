# verdict: calls
# One execution per channel.
def spectra(x, out):
    """Write the spectrum of each column of x into a row of out."""
    n, channels = x.shape
    half = n // 2 + 1
    plan = cufft.create()
    cufft.make_plan_many(
        plan, 1, [n], [n], x.stride(0), 1, [half], 1, half, Type.R2C, 1
    )
    for c in range(channels):
        source = x.data_ptr() + 4 * c * x.stride(1)
        cufft.exec_r2c(plan, source, out.data_ptr() + 8 * c * half)  # <- here
    cufft.destroy(plan)
