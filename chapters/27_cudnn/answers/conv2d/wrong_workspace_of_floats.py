# verdict: device-bounds
# The size of the workspace is in floats, so multiply by 4.
def conv2d(handle, x, w, y, pad, stride, algo):
    """Write the convolution of x with the filters w into y."""
    x_desc, y_desc = tensor_of(x), tensor_of(y)
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_filter4d_descriptor(
        w_desc, DataType.FLOAT, TensorFormat.NCHW, *w.shape
    )
    how = cudnn.create_convolution_descriptor()
    mode = ConvolutionMode.CROSS_CORRELATION
    cudnn.set_convolution2d_descriptor(
        how, *pad, *stride, 1, 1, mode, DataType.FLOAT
    )

    nbytes = cudnn.get_convolution_forward_workspace_size(
        handle, x_desc, w_desc, how, y_desc, algo
    )
    room = zeros(nbytes, dtype=torch.uint8)
    cudnn.convolution_forward(  # <- here
        *(handle, ONE, x_desc, x.data_ptr(), w_desc, w.data_ptr(), how),
        *(algo, room.data_ptr(), 4 * nbytes + 4, ZERO, y_desc, y.data_ptr()),
    )

    cudnn.destroy_convolution_descriptor(how)
    cudnn.destroy_filter_descriptor(w_desc)
    cudnn.destroy_tensor_descriptor(x_desc)
    cudnn.destroy_tensor_descriptor(y_desc)
