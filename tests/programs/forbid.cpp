// `forbid PROGRAM ARGUMENTS...`: runs PROGRAM where the kernel refuses copies between processes
// (process_vm_readv, process_vm_writev), as it does in containers.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace {

bool forbid_copies() {
  constexpr unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refuse),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("forbid PROGRAM ARGUMENTS...\n", stderr);
    return 2;
  }
  if (!forbid_copies()) {
    std::perror("no filter of system calls");
    return 3;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 2;
}
