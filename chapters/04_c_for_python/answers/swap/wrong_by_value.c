// verdict: compile
// Python needs no stars.
void swap(int a, int b)  // <- here
{
    int kept = a;
    a = b;
    b = kept;
}
