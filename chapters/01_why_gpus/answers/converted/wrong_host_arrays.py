# verdict: traffic
# The launch takes the arrays that I have.
def converted(celsius):
    """Return the temperatures in degrees Fahrenheit, computed by the GPU."""
    blocks = math.ceil(celsius.size / 32)
    out = np.zeros_like(celsius)
    d_celsius = cuda.device_array_like(celsius)
    d_out = cuda.device_array_like(celsius)

    to_fahrenheit[blocks, 32](celsius, out)  # <- here

    return out
