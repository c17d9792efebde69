// Puts, gets and signals where the fast path does not do: wrong arguments, PEs of other processes, contexts of the program.
#include <cstdlib>
#include <string_view>

#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

struct target {
  rma::context& operations;
  int rank;
};
target checked_target(pe_state& me, shmem_ctx_t handle, int pe) {
  context* const c = checked_context(me, handle);
  const int rank = checked_pe(me, c, pe);
  return {operations_of(me, c), rank};
}

void check_local(const char* argument, const void* address, std::size_t bytes) {
  if (address == nullptr && bytes != 0)
    fail("{} is a null pointer: pass where {} bytes are", argument, bytes);
}

// Checks that blocks which lie `stride` bytes apart, forwards or backwards, are symmetric.
void check_symmetric_blocks(pe_state& me, const char* argument, const void* address,
                            std::ptrdiff_t stride, std::size_t block_bytes, std::size_t blocks) {
  if (blocks == 0 || block_bytes == 0) return;
  const auto distance = static_cast<std::size_t>(stride < 0 ? -stride : stride);
  const std::size_t to_last = checked_bytes(blocks - 1, distance);
  const auto* const first = static_cast<const std::byte*>(address);
  // All blocks between two that are symmetric, in one region, are symmetric.
  check_symmetric(me, argument, first, block_bytes);
  if (stride >= 0) return check_symmetric(me, argument, first, to_last + block_bytes);
  if (to_last > reinterpret_cast<std::uintptr_t>(address))
    fail("{} {}: its blocks begin {} bytes before it", argument, address, to_last);
  check_symmetric(me, argument, first - to_last, to_last + block_bytes);
}

// Blocks of so many bytes, which lie so many bytes apart.
struct strided {
  target other;
  std::ptrdiff_t dest_stride, source_stride;
  std::size_t bytes;
};
struct argument {
  const char* name;
  const void* address;
};
// `there`: at the PE.
strided checked_strided(pe_state& me, shmem_ctx_t context, std::ptrdiff_t dest_stride,
                        std::ptrdiff_t source_stride, std::size_t block, std::size_t blocks,
                        std::size_t element, int pe, argument there, argument here) {
  const target other = checked_target(me, context, pe);
  // The strides mean nothing for one block.
  const auto bytes_of_stride = [&](const char* name, std::ptrdiff_t stride) {
    std::ptrdiff_t bytes = 0;
    if (blocks > 1 && __builtin_mul_overflow(stride, static_cast<std::ptrdiff_t>(element), &bytes))
      fail("{} is {}: {} elements of {} bytes are beyond all memory", name, stride, stride,
           element);
    return bytes;
  };
  const strided how{other, bytes_of_stride("dst", dest_stride),
                    bytes_of_stride("sst", source_stride), checked_bytes(block, element)};
  const bool puts = there.name == std::string_view("dest");
  check_symmetric_blocks(me, there.name, there.address, puts ? how.dest_stride : how.source_stride,
                         how.bytes, blocks);
  check_local(here.name, here.address, blocks == 0 ? 0 : how.bytes);
  return how;
}

// In a checked job.
void note_blocks(const pe_state& me, const char* call, const strided& how, use_kind kind,
                 const void* there, std::ptrdiff_t there_stride, const void* here,
                 std::ptrdiff_t here_stride, std::size_t blocks) {
  if (races_of(me) == nullptr) return;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto n = static_cast<std::ptrdiff_t>(i);
    note_transfer(me, {call, how.other.operations, kind, how.other.rank},
                  static_cast<const std::byte*>(there) + n * there_stride,
                  static_cast<const std::byte*>(here) + n * here_stride, how.bytes);
  }
}

// `dest` and `there` are the same; without bytes they mean nothing.
void put_and_signal(pe_state& me, const char* call, const target& to, void* dest,
                    const rma::location& there, const void* source, std::size_t bytes,
                    std::uint64_t* signal_address, std::uint64_t signal, int operation) {
  const rma::location at =
      checked_location(me, "sig_addr", signal_address, sizeof *signal_address, to.rank);
  if (operation != SHMEM_SIGNAL_SET && operation != SHMEM_SIGNAL_ADD)
    fail("sig_op is {}: pass SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", operation);
  note_write(me, to.rank, dest, bytes);
  note_write(me, to.rank, signal_address, sizeof *signal_address);
  note_transfer(me, {call, to.operations, use_kind::put, to.rank}, dest, source, bytes);
  note_fence(me, to.operations);  // Who sees the signal sees what was put before.
  note_word(me, signal_address, sizeof *signal_address, true, to.rank);
  me.memory->put_signal(
      to.operations, there, source, bytes, at, signal,
      operation == SHMEM_SIGNAL_SET ? rma::signal_operation::set : rma::signal_operation::add);
}

}  // namespace

void put_slowly(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, int pe) {
  in_call(call, [&](pe_state& me) {
    const target to = checked_target(me, context, pe);
    const std::size_t bytes = checked_bytes(count, element);
    const rma::location there = checked_location(me, "dest", dest, bytes, to.rank);
    check_local("source", source, bytes);
    note_write(me, to.rank, dest, bytes);
    note_transfer(me, {call, to.operations, use_kind::put, to.rank}, dest, source, bytes);
    if (bytes != 0) me.memory->put(to.operations, there, source, bytes);
  });
}

void get_slowly(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, int pe, completion when) {
  in_call(call, [&](pe_state& me) {
    const target from = checked_target(me, context, pe);
    const std::size_t bytes = checked_bytes(count, element);
    const rma::location there = checked_location(me, "source", source, bytes, from.rank);
    check_local("dest", dest, bytes);
    note_look(me);
    note_transfer(me, {call, from.operations, use_kind::get, from.rank}, source, dest, bytes);
    if (bytes == 0) return;
    if (when == completion::blocking)
      me.memory->get(from.operations, dest, there, bytes);
    else
      me.memory->get_nbi(from.operations, dest, there, bytes);
  });
}

void put_strided(const char* call, shmem_ctx_t context, void* dest, const void* source,
                 std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t block,
                 std::size_t blocks, std::size_t element, int pe) {
  in_call(call, [&](pe_state& me) {
    const strided how = checked_strided(me, context, dest_stride, source_stride, block, blocks,
                                        element, pe, {"dest", dest}, {"source", source});
    for (std::size_t i = 0; i < blocks && tracing(); ++i)
      note_write(me, how.other.rank,
                 static_cast<std::byte*>(dest) + static_cast<std::ptrdiff_t>(i) * how.dest_stride,
                 how.bytes);
    if (blocks == 0 || how.bytes == 0) return;
    note_blocks(me, call, how, use_kind::put, dest, how.dest_stride, source, how.source_stride,
                blocks);
    me.memory->put_strided(how.other.operations, me.symmetric.at(dest, how.other.rank),
                           how.dest_stride, source, how.source_stride, how.bytes, blocks);
  });
}

void get_strided(const char* call, shmem_ctx_t context, void* dest, const void* source,
                 std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t block,
                 std::size_t blocks, std::size_t element, int pe) {
  in_call(call, [&](pe_state& me) {
    const strided how = checked_strided(me, context, dest_stride, source_stride, block, blocks,
                                        element, pe, {"source", source}, {"dest", dest});
    note_look(me);
    if (blocks == 0 || how.bytes == 0) return;
    note_blocks(me, call, how, use_kind::get, source, how.source_stride, dest, how.dest_stride,
                blocks);
    me.memory->get_strided(how.other.operations, dest, how.dest_stride,
                           me.symmetric.at(source, how.other.rank), how.source_stride, how.bytes,
                           blocks);
  });
}

void put_signal(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, std::uint64_t* signal_address,
                std::uint64_t signal, int operation, int pe) {
  in_call(call, [&](pe_state& me) {
    const target to = checked_target(me, context, pe);
    const std::size_t bytes = checked_bytes(count, element);
    const rma::location there = checked_location(me, "dest", dest, bytes, to.rank);
    check_local("source", source, bytes);
    put_and_signal(me, call, to, dest, there, source, bytes, signal_address, signal, operation);
  });
}

void put_signal_nbi(const char* call, shmem_ctx_t context, void* dest, const void* source,
                    std::size_t count, std::size_t element, std::uint64_t* signal_address,
                    std::uint64_t signal, int operation, int pe) {
  put_signal(call, context, dest, source, count, element, signal_address, signal, operation, pe);
}

void signal_update(const char* call, shmem_ctx_t context, std::uint64_t* signal_address,
                   std::uint64_t signal, int operation, int pe) {
  in_call(call, [&](pe_state& me) {
    const target to = checked_target(me, context, pe);
    put_and_signal(me, call, to, nullptr, {}, nullptr, 0, signal_address, signal, operation);
  });
}

std::uint64_t signal_fetch(const char* call, const std::uint64_t* signal_address) {
  return in_call(call, [&](pe_state& me) {
    check_symmetric(me, "sig_addr", signal_address, sizeof *signal_address);
    note_look(me);
    const std::uint64_t seen = rma::initiator::look(signal_address);
    note_learnt(me, memory_range::of(signal_address, sizeof *signal_address));
    return seen;
  });
}

void refuse_null_fetch(const char* call) {
  in_call(call, [](pe_state&) { check_place("fetch", nullptr); });
  std::abort();  // The call above does not return.
}

checked_word checked_update(pe_state& me, shmem_ctx_t context, const void* word, std::size_t bytes,
                            bool writes, int pe, bool is_floating) {
  const target to = checked_target(me, context, pe);
  const rma::location at = checked_location(me, "the word", word, bytes, to.rank);
  if (reinterpret_cast<std::uintptr_t>(word) % bytes != 0)
    fail("the word at {} is not aligned to its size of {} bytes", word, bytes);
  if (writes) note_write(me, to.rank, word, bytes);
  note_word(me, word, bytes, writes, to.rank, is_floating);
  return {to.operations, at};
}

void note_updated(const pe_state& me, const void* word, std::size_t bytes, int pe,
                  bool is_floating) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->take(me.number, name_of_updates(me, word, element_of_update(bytes, is_floating), pe));
}

void note_fetch(const char* call, const rma::context& operations, const void* fetch,
                std::size_t bytes, int pe) {
  const pe_state& me = *state_of_caller();
  if (race_watch* const races = races_of(me); races != nullptr)
    races->begin({me.number,
                  memory_range::of(fetch, bytes),
                  true,
                  {&operations, pe},
                  call,
                  diagnosis::calls_here()},
                 false);
}

void wake(pe_state& me, const void* written, int pe) {
  me.memory->wake(me.symmetric.at(written, pe));
}

void fence(const char* call, shmem_ctx_t context) {
  if (pe_state* const me = usable_state();
      me != nullptr && context == SHMEM_CTX_DEFAULT && me->operations.is_quiet()) [[likely]]
    return me->memory->fence(me->operations);
  in_call(call, [&](pe_state& me) {
    if (context == SHMEM_CTX_INVALID) return;
    rma::context& operations = operations_of(me, checked_context(me, context));
    me.memory->fence(operations);
    note_fence(me, operations);
  });
}

void quiet(const char* call, shmem_ctx_t context) {
  if (pe_state* const me = usable_state();
      me != nullptr && context == SHMEM_CTX_DEFAULT && me->operations.is_quiet()) [[likely]]
    return me->memory->quiet(me->operations);
  in_call(call, [&](pe_state& me) {
    if (context == SHMEM_CTX_INVALID) return;
    shmem::context* const c = checked_context(me, context);
    send_gathered(me, call, c == nullptr ? me.gathers.get() : c->gathers.get(),
                  operations_of(me, c));
    me.memory->quiet(operations_of(me, c));
    note_quiet(me, operations_of(me, c));
  });
}

void pe_quiet(const char* call, shmem_ctx_t handle, const int* pes, std::size_t count) {
  in_call(call, [&](pe_state& me) {
    if (handle == SHMEM_CTX_INVALID) return;
    context* const c = checked_context(me, handle);
    if (count != 0) check_place("target_pes", pes);
    std::vector<int> ranks(count);
    for (std::size_t i = 0; i < count; ++i) ranks[i] = checked_pe(me, c, pes[i]);
    send_gathered(me, call, c == nullptr ? me.gathers.get() : c->gathers.get(),
                  operations_of(me, c));
    me.memory->quiet(operations_of(me, c), ranks);
    for (const int rank : ranks) note_quiet(me, operations_of(me, c), rank);
  });
}

}  // namespace weft::shmem
