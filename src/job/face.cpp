#include "job/face.hpp"

#include <array>

#include "base/assert.hpp"
#include "rank/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {
namespace {

// Constant-initialised: faces register from other files' static objects.
constinit std::array<const face*, faces_max> registered{};

// In place of the messages of a face that this program does not have.
void refuse_message(void* between, const comm::event& happened) noexcept {
  worker* const here = worker::current();
  if (here == nullptr) return;
  network::of(*here).count_received(happened.process);
  static_cast<network*>(between)
      ->at(here->index())
      .device()
      .refuse(happened, "it is of a face that this program does not have");
}

}  // namespace

bool register_face(const face& one) {
  WEFT_ASSERT(one.slot < faces_max);
  WEFT_ASSERT(registered[one.slot] == nullptr);
  registered[one.slot] = &one;
  return true;
}

std::uint8_t first_mail_kind(std::size_t slot) noexcept {
  std::size_t kind = mail_kinds_of_ranks;
  for (std::size_t i = 0; i < slot; ++i)
    if (registered[i] != nullptr) kind += registered[i]->mail.size();
  return static_cast<std::uint8_t>(kind);
}

void set_mail_handlers_of_faces(scheduler& workers) {
  for (const face* one : registered) {
    if (one == nullptr) continue;
    std::uint8_t kind = first_mail_kind(one->slot);
    for (const scheduler::mail_handler handler : one->mail) {
      WEFT_ASSERT(kind < scheduler::mail_kinds);
      workers.set_handler(kind++, handler);
    }
  }
}

comm::handler_id face_handlers::add(comm::completion::function called, void* context) {
  WEFT_ASSERT(between_ != nullptr);
  WEFT_ASSERT(added_ < face_handlers_max);
  ++added_;
  return between_->core().register_handler(comm::completion(called, context));
}

// Each slot has as many names as any: so those of one face do not depend on which others a process has.
void begin_faces(job& j, network* between) {
  for (std::size_t slot = 0; slot < faces_max; ++slot) {
    face_handlers handlers(between);
    if (const face* const one = registered[slot]; one != nullptr && one->begin != nullptr)
      j.faces[slot] = one->begin(j, handlers);
    if (between == nullptr) continue;
    while (handlers.added_ < face_handlers_max) (void)handlers.add(&refuse_message, between);
  }
}

}  // namespace weft::detail
