/* A library of the program: its globals are symmetric, too. */
long counts_of_all;
