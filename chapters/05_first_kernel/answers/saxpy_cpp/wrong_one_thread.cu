// verdict: loads
// One thread goes through the array, so that nothing is added twice.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i == 0)
        for (int k = 0; k < n; k++)
            y[k] += alpha * x[k];  // <- here
}
