#include "guess.h"

#include <cstdio>

static int highest, hidden, asked;

int ask(int number) {
    asked++;
    return number == hidden ? 0 : number < hidden ? -1 : 1;
}

int main() {
    if (scanf("%d %d", &highest, &hidden) != 2) return 1;
    int found = find_number(highest);
    printf("%d %d\n", found, asked);
}
