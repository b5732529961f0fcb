#include <stdio.h>
#include <stdlib.h>

struct series {
    double *data;
    size_t count;
};

double largest(const struct series *s)
{
    double best = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->data[i] > best)
            best = s->data[i];
    return best;
}

int main(void)
{
    double depths[] = {-3, -1, -2};
    struct series s = {depths, 3};

    printf("largest: %g\n", largest(&s));
    return 0;
}
