# verdict: not-rebuilt
# A source file makes an object file.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c  # <- here
    $(CC) $(CFLAGS) -c main.c

stats.o: stats.c
    $(CC) $(CFLAGS) -c stats.c

.PHONY: clean
clean:
    rm -f report main.o stats.o
