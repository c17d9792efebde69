// `forbid [memfd] PROGRAM ARGUMENTS...`: runs PROGRAM where the kernel refuses copies between processes
// (process_vm_readv, process_vm_writev), as it does in containers, or files in memory (memfd_create).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace {

// The same call twice where there is one.
bool forbid(unsigned one, unsigned other) {
  constexpr unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refuse),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_memfd = argc > 1 && std::strcmp(argv[1], "memfd") == 0;
  char** const program = argv + (is_memfd ? 2 : 1);
  if (*program == nullptr) {
    std::fputs("forbid [memfd] PROGRAM ARGUMENTS...\n", stderr);
    return 2;
  }
  if (is_memfd ? !forbid(SYS_memfd_create, SYS_memfd_create)
               : !forbid(SYS_process_vm_readv, SYS_process_vm_writev)) {
    std::perror("no filter of system calls");
    return 3;
  }
  execvp(program[0], program);
  std::perror(program[0]);
  return 2;
}
