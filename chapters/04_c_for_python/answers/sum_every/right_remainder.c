// verdict: pass
// All of them, and a look at each index.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;

    for (size_t i = 0; i < n; i++) {
        if (i % step == 0) {
            total += x[i];
        }
    }
    return total;
}
