// Messages between processes of one node, through memory that they share. docs/protocols/shm.md.
//
// Each endpoint owns a segment: one ring of records per endpoint of the node, into which that one
// alone writes, and what the owner sleeps on. The segment has no name, so there is nothing to
// clean up after a crash: peers open it through /proc/PID/fd. Large messages are copied once, by
// the kernel (process_vm_readv), where it allows that; otherwise traits() say that there is no put
// and no get.
//
// send() is done when it returns: nothing is ever posted.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "base/limits.hpp"
#include "transport/transport.hpp"

namespace weft {

struct shm_options {
  std::string job = "job";                  // Names files in /dev/shm, where there must be some.
  std::size_t ring_bytes = shm_ring_bytes;  // Of one sender; a power of two.
  // Forbids what the kernel would allow, so that tests and users reach the other ways.
  bool direct_copies = true;     // put and get by process_vm_writev and _readv.
  bool nameless_segment = true;  // Otherwise a file in /dev/shm until all peers have opened it.
};

// Throws weft::error when the machine gives no shared memory.
[[nodiscard]] std::unique_ptr<transport> make_shm_transport(const shm_options& options = {});

}  // namespace weft
