// verdict: wrong-value
// The struct knows where we are.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    m->data += col;  // <- here
    while (m->rows-- > 0) {
        *m->data *= factor;
        m->data += m->cols;
    }
}
