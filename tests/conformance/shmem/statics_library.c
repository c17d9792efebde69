/* A library of a program: its globals are symmetric as the program's own are. */
long library_words[600] = {5, 6, 7};
long* library_place(void) { return &library_words[1]; }
