#include <cstdio>

int main()
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
        return 1;
    }
    printf("%d GPU\n", count);
}
