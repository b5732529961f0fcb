#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int *squares = malloc(5 * sizeof(int));

    for (int i = 0; i <= 5; i++)
        squares[i] = i * i;
    printf("%d\n", squares[4]);
    free(squares);
    return 0;
}
