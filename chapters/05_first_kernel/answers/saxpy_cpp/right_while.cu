// verdict: pass
// A while loop that steps by the grid.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    while (i < n) {
        y[i] = fmaf(alpha, x[i], y[i]);
        i += gridDim.x * blockDim.x;
    }
}
