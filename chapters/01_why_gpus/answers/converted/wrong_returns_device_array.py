# verdict: type
# The results are in d_out, so out is d_out.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    d_celsius.copy_to_device(celsius)
    to_fahrenheit[blocks, 32](d_celsius, d_out)
    out = d_out

    return out  # <- here
