// verdict: compile
// The result goes to the first array.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i] = alpha * x[i] + y[i];  // <- here
}
