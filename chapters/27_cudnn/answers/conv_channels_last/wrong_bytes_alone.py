# verdict: wrong-value
# The numbers have moved, so the description can stay.
def conv_channels_last(handle, x, w, y, pad):
    """Write the convolution of x with w into y, all in NHWC."""
    half, order = DataType.HALF, TensorFormat.NHWC
    x_desc = cudnn.create_tensor_descriptor()
    y_desc = cudnn.create_tensor_descriptor()
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_tensor4d_descriptor(x_desc, order, half, *x.shape)
    cudnn.set_tensor4d_descriptor(y_desc, order, half, *y.shape)
    cudnn.set_filter4d_descriptor(w_desc, half, TensorFormat.NCHW, *w.shape)

    moved = channels_last(w)
    convolve(handle, x_desc, x, w_desc, moved, y_desc, y, pad)  # <- here

    for desc in (x_desc, y_desc):
        cudnn.destroy_tensor_descriptor(desc)
    cudnn.destroy_filter_descriptor(w_desc)
