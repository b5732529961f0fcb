// verdict: race
// gridDim is the size of the grid.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += gridDim.x)
        y[i] += alpha * x[i];  // <- here
}
