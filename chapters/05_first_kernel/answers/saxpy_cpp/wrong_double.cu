// verdict: compile
// 2.5 is a double.
__global__ void saxpy_cpp(double alpha, const float *x, float *y, int n)  // <- here
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] += alpha * x[i];
}
