/* Operations and error handlers of the bindings of MPICH and Open MPI for C++: a program may make as many as it likes of one function.
   Compiled by the mpicxx of one; it is right under that one, and under weft. */
#include "../conform.h"

static int called;
static void add(const void* in, void* inout, int count, const MPI::Datatype& type) {
  EXPECT(type == MPI::INT, "type %x", static_cast<MPI_Datatype>(type));
  ++called;
  for (int i = 0; i < count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}
static void add_in_c(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}
static int class_of_handler = -1;
static void handler(MPI::Comm& comm, int* code, ...) {
  EXPECT_INT(comm.Get_size(), size);
  MPI_Error_class(*code, &class_of_handler);
}
static void handler_in_c(MPI_Comm*, int* code, ...) {
  MPI_Error_class(*code, &class_of_handler);
}

static void operations() {
  MPI_Op in_c;
  for (int i = 0; i < 100; ++i) {
    MPI::Op op;
    op.Init(add, true);
    int one = 1, sum = 0;
    MPI::COMM_WORLD.Allreduce(&one, &sum, 1, MPI::INT, op);
    EXPECT_INT(sum, size);
    op.Free();
    /* One of C's may get the handle that has just been freed. */
    MPI_Op_create(add_in_c, 1, &in_c);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, in_c, MPI_COMM_WORLD);
    EXPECT_INT(sum, size);
    MPI_Op_free(&in_c);
  }
  int all = 0; /* Not every rank combines something. */
  MPI_Allreduce(&called, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(all > 0 || size == 1, "no function of C++ has been called");
}

static void subtract(const void* in, void* inout, int count, const MPI::Datatype&) {
  for (int i = 0; i < count; ++i) static_cast<int*>(inout)[i] -= static_cast<const int*>(in)[i];
}

#ifdef OPEN_MPI
/* What MPI::Op::Init() calls, by two threads at once: both make an operation before either says which function is its own. */
extern "C" void ompi_mpi_cxx_op_intercept(void* in, void* inout, int* count, MPI_Datatype* type,
                                          MPI_User_function* function);
extern "C" void ompi_op_set_cxx_callback(MPI_Op op, MPI_User_function* function);
static void two_at_once() {
  MPI_Op ops[2];
  for (MPI_Op& op : ops)
    MPI_Op_create(reinterpret_cast<MPI_User_function*>(ompi_mpi_cxx_op_intercept), 1, &op);
  ompi_op_set_cxx_callback(ops[0], reinterpret_cast<MPI_User_function*>(add));
  ompi_op_set_cxx_callback(ops[1], reinterpret_cast<MPI_User_function*>(subtract));
  int in = 2, sum = 5;
  MPI_Reduce_local(&in, &sum, 1, MPI_INT, ops[0]);
  EXPECT_INT(sum, 7);
  MPI_Reduce_local(&in, &sum, 1, MPI_INT, ops[1]);
  EXPECT_INT(sum, 5);
  for (MPI_Op& op : ops) MPI_Op_free(&op);
}
#else
static void two_at_once() {}
#endif

static void handlers() {
  MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
  for (int i = 0; i < 100; ++i) {
    MPI::Errhandler made = MPI::Comm::Create_errhandler(handler);
    comm.Set_errhandler(made);
    class_of_handler = -1;
    comm.Call_errhandler(MPI::ERR_RANK);
    EXPECT_INT(class_of_handler, MPI_ERR_RANK);
    made.Free();
    MPI_Errhandler in_c;
    MPI_Comm_create_errhandler(handler_in_c, &in_c);
    MPI_Comm_set_errhandler(comm, in_c);
    class_of_handler = -1;
    MPI_Comm_call_errhandler(comm, MPI_ERR_TAG);
    EXPECT_INT(class_of_handler, MPI_ERR_TAG);
    MPI_Errhandler_free(&in_c);
  }
  comm.Free();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  operations();
  two_at_once();
  handlers();
  return end();
}
