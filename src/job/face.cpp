#include "job/face.hpp"

#include <array>

#include "base/assert.hpp"
#include "job/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {
namespace {

// By slot, the base face last. Constant-initialised, since static objects of other files register faces.
constinit std::array<const face*, faces_max + 1> registered{};
constinit const face*& base = registered[base_slot];

// The handler for messages of a face that this program does not have.
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
  WEFT_ASSERT(one.slot < registered.size());
  WEFT_ASSERT(registered[one.slot] == nullptr);
  registered[one.slot] = &one;
  return true;
}

const face* base_face() noexcept {
  return base;
}

std::uint8_t first_mail_kind(std::size_t slot) noexcept {
  if (slot == base_slot) return first_mail;
  std::size_t kind = first_mail + (base != nullptr ? base->mail.size() : 0);
  for (std::size_t i = 0; i < slot; ++i)
    if (registered[i] != nullptr) kind += registered[i]->mail.size();
  return static_cast<std::uint8_t>(kind);
}

void set_mail_handlers(scheduler& workers) {
  for (const face* one : registered) {
    if (one == nullptr) continue;
    std::uint8_t kind = first_mail_kind(one->slot);
    for (const scheduler::mail_handler handler : one->mail) {
      WEFT_ASSERT(kind < scheduler::mail_kinds);
      workers.set_handler(kind++, handler);
    }
  }
}

rank_pointer make_rank() {
  if (base != nullptr) return base->make_rank();
  return {new job_rank, [](job_rank* r) { delete r; }};
}

std::vector<rank_column> columns_of_faces() {
  std::vector<rank_column> all;
  const auto add = [&](const face* one) {
    if (one != nullptr) all.insert(all.end(), one->columns.begin(), one->columns.end());
  };
  add(base);
  for (std::size_t slot = 0; slot < faces_max; ++slot) add(registered[slot]);
  return all;
}

comm::handler_id face_handlers::add(comm::completion::function called, void* context,
                                    bool also_pumped) {
  WEFT_ASSERT(between_ != nullptr);
  WEFT_ASSERT(added_ < most_);
  ++added_;
  return between_->core().register_handler(comm::completion(called, context), also_pumped);
}

void begin_base(job& j, network* between) {
  if (base == nullptr || base->begin == nullptr) return;
  face_handlers handlers(between, base_handlers_max);
  j.base = base->begin(j, handlers);
}

// Each slot takes face_handlers_max numbers, so a face's numbers do not depend on which others a process has.
void begin_faces(job& j, network* between) {
  for (std::size_t slot = 0; slot < faces_max; ++slot) {
    face_handlers handlers(between, face_handlers_max);
    if (const face* const one = registered[slot]; one != nullptr && one->begin != nullptr)
      j.faces[slot] = one->begin(j, handlers);
    if (between == nullptr) continue;
    while (handlers.added_ < face_handlers_max) (void)handlers.add(&refuse_message, between);
  }
}

}  // namespace weft::detail
