# verdict: launch
# A block for each temperature, with one thread.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    out = np.zeros_like(celsius)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    d_celsius.copy_to_device(celsius)
    to_fahrenheit[celsius.size, 1](d_celsius, d_out)  # <- here
    d_out.copy_to_host(out)

    return out
