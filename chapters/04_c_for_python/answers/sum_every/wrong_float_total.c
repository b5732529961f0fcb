// verdict: wrong-value
// A sum of floats is a float.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    float total = 0;

    for (size_t i = 0; i < n; i += step) {
        total += x[i];
    }

    return total;  // <- here
}
