# verdict: status
# The sizes are in the order of memory: n, h, w, c.
def conv_channels_last(handle, x, w, y, pad):
    """Write the convolution of x with w into y, all in NHWC."""
    half, order = DataType.HALF, TensorFormat.NHWC
    x_desc = cudnn.create_tensor_descriptor()
    y_desc = cudnn.create_tensor_descriptor()
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_tensor4d_descriptor(x_desc, order, half, x.shape[0], *x.shape[2:], x.shape[1])
    cudnn.set_tensor4d_descriptor(y_desc, order, half, y.shape[0], *y.shape[2:], y.shape[1])
    cudnn.set_filter4d_descriptor(w_desc, half, order, w.shape[0], *w.shape[2:], w.shape[1])

    moved = channels_last(w)
    convolve(handle, x_desc, x, w_desc, moved, y_desc, y, pad)  # <- here

    for desc in (x_desc, y_desc):
        cudnn.destroy_tensor_descriptor(desc)
    cudnn.destroy_filter_descriptor(w_desc)
