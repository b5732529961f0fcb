// verdict: compile
// The end of the line ends the statement.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x
    int stride = gridDim.x * blockDim.x;  // <- here

    for (; i < n; i += stride)
        y[i] += alpha * x[i];
}
