// checker INPUT EXPECTED PRINTED: prints the share of the points, and on stderr why it is not all of them.
#include <algorithm>
#include <cstdio>
#include <fstream>

int main(int, char** names) {
    int highest, hidden, wanted, found = 0, asked = 0;
    std::ifstream(names[1]) >> highest >> hidden;
    std::ifstream(names[2]) >> wanted;
    std::ifstream(names[3]) >> found >> asked;
    double share = found == hidden ? std::min(1.0, double(wanted) / std::max(asked, 1)) : 0.0;
    printf("%.6f\n", share);
    if (found != hidden) fprintf(stderr, "The number found is not the hidden one.");
    else if (asked > wanted) fprintf(stderr, "%d questions, %d are enough.", asked, wanted);
}
