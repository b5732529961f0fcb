// verdict: wrong-value
// Add them all up.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += x[i];
    }
    return total;  // <- here
}
