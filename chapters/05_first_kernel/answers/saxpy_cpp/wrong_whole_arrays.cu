// verdict: compile
// As with NumPy.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    y = alpha * x + y;  // <- here
}
