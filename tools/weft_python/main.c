/* Python's interpreter as a program of weftcc: each rank has a copy of it, with the modules that it imports. */
#include <Python.h>

int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }
