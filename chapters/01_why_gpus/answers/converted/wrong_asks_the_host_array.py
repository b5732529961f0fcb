# verdict: exception
# The data go from celsius to the device, so celsius has the method.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    out = np.zeros_like(celsius)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    celsius.copy_to_device(d_celsius)  # <- here
    to_fahrenheit[blocks, 32](d_celsius, d_out)
    d_out.copy_to_host(out)

    return out
