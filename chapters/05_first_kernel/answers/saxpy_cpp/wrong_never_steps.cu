// verdict: endless-loop
// While there is an element, update it.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    while (i < n)  // <- here
        y[i] += alpha * x[i];
}
