int find_number(int highest);  // you write this one
int ask(int number);           // -1: too small, 0: it is this one, 1: too large
