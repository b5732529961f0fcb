// verdict: race
// The stride is the number of threads, and that is blockDim.x.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += blockDim.x)
        y[i] += alpha * x[i];  // <- here
}
