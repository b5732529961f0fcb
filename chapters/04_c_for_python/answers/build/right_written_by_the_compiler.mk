# verdict: pass
# The compiler knows the headers.
CFLAGS = -Wall -O2 -MMD

report: main.o stats.o
    $(CC) main.o stats.o -o report

-include main.d stats.d

.PHONY: clean
clean:
    rm -f report main.o stats.o main.d stats.d
