// Sessions: what a context gathers, and when it goes.
#include "shmem/sessions.hpp"

#include "shmem/core.hpp"

namespace weft::shmem {
namespace {

std::unique_ptr<session>& session_of(pe_state& me, context* c) noexcept {
  return c == nullptr ? me.gathers : c->gathers;
}

}  // namespace

void begin_meeting(pe_state& me) {
  check_not_in_handler(me);
  send_all_gathered(me, "what a session has gathered");
}

void send_gathered(pe_state& me, const char* call, session* of, rma::context& operations) {
  if (of == nullptr) return;
  of->bundles.send_all([&](std::size_t pe, std::span<const std::byte> bundle) {
    send_bundle(me, call, static_cast<int>(pe), bundle);
  });
  me.memory->send_gathered(operations);
}

void send_all_gathered(pe_state& me, const char* call) {
  if (me.sessions == 0) [[likely]]
    return;
  send_gathered(me, call, me.gathers.get(), me.operations);
  for (std::size_t i = 0; i < me.contexts.size(); ++i)
    if (me.contexts[i]->of != nullptr)
      send_gathered(me, call, me.contexts[i]->gathers.get(), me.contexts[i]->operations);
}

void session_start(const char* call, shmem_ctx_t handle, long options,
                   const shmem_ctx_session_config_t*, long) {
  in_call(call, [&](pe_state& me) {
    if (handle == SHMEM_CTX_INVALID) return;
    if ((options & ~SHMEM_CTX_SESSION_BATCH) != 0)
      fail("options 0x{:x}: pass 0 or SHMEM_CTX_SESSION_BATCH", options);
    context* const c = checked_context(me, handle);
    auto& of = session_of(me, c);
    if ((options & SHMEM_CTX_SESSION_BATCH) == 0 || of != nullptr) return;
    of = std::make_unique<session>(me.size);
    ++me.sessions;
    me.memory->begin_gathering(operations_of(me, c));
  });
}

void end_session(pe_state& me, const char* call, context* c) {
  auto& of = session_of(me, c);
  if (of == nullptr) return;
  send_gathered(me, call, of.get(), operations_of(me, c));
  me.memory->end_gathering(operations_of(me, c));
  of = nullptr;
  --me.sessions;
}

void session_stop(const char* call, shmem_ctx_t handle) {
  in_call(call, [&](pe_state& me) {
    if (handle == SHMEM_CTX_INVALID) return;
    end_session(me, call, checked_context(me, handle));
  });
}

}  // namespace weft::shmem
