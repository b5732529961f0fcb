# verdict: endless-loop
# The loop never advances i.
def cooled(x):
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    i = 0
    while i < x.size:  # <- here
        cool_blocks = blocks(x.size)
    return d_out.copy_to_host()
