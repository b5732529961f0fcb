// verdict: compile
// A function like any other.
void saxpy_cpp(float alpha, const float *x, float *y, int n)  // <- here
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] += alpha * x[i];
}
