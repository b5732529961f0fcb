// verdict: unwritten
// Index, guard, work, as in a kernel with a thread for each element.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] += alpha * x[i];  // <- here
}
