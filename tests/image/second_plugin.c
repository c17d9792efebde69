/* What another library needs, or what the program opens for those that it opens later. */
static int calls;
int second_count(void) { return ++calls; }
