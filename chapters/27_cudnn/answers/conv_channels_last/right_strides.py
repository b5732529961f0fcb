# verdict: pass
# Describe x and y by their strides.
def conv_channels_last(handle, x, w, y, pad):
    """Write the convolution of x with w into y, all in NHWC."""
    descs = []
    for each in (x, y):
        desc = cudnn.create_tensor_descriptor()
        cudnn.set_tensor4d_descriptor_ex(
            desc, DataType.HALF, *each.shape, *each.stride()
        )
        descs.append(desc)
    filters = cudnn.create_filter_descriptor()
    cudnn.set_filter4d_descriptor(
        filters, DataType.HALF, TensorFormat.NHWC, *w.shape
    )
    convolve(
        handle, descs[0], x, filters, channels_last(w), descs[1], y, pad
    )
    for desc in descs:
        cudnn.destroy_tensor_descriptor(desc)
    cudnn.destroy_filter_descriptor(filters)
