// verdict: compile
// The index of the block, times its size.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx * blockDim + threadIdx;  // <- here

    if (i < n)
        y[i] += alpha * x[i];
}
