# verdict: uninitialised
# All copies first, then the work.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    out = np.zeros_like(celsius)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    d_celsius.copy_to_device(celsius)
    d_out.copy_to_host(out)  # <- here
    to_fahrenheit[blocks, 32](d_celsius, d_out)

    return out
