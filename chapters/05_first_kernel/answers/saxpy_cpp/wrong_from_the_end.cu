// verdict: negative-index
// The last element is -1, as in Python.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[-1 - i] += alpha * x[-1 - i];  // <- here
}
