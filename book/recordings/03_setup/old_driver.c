/* A libcuda.so.1 that says what a driver of 2021 says, and can do nothing else. */
int cuInit(unsigned flags) { return 0; }

int cuDriverGetVersion(int *version)
{
    *version = 11040;
    return 0;
}

int cuGetProcAddress_v2(
    const char *name, void **address, int version, unsigned long flags, int *found)
{
    *address = 0;
    return 500; /* CUDA_ERROR_NOT_FOUND */
}
