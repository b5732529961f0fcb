// verdict: wrong-value
// A number is a number.
void swap(int *a, int *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;  // <- here
}
