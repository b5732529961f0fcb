# verdict: pass
# to_device allocates the array itself.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    d_celsius = cuda.to_device(celsius)
    d_out = cuda.device_array_like(d_celsius)
    to_fahrenheit[(celsius.size + 31) // 32, 32](d_celsius, d_out)
    return d_out.copy_to_host()
