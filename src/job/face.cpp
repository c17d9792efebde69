#include "job/face.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "bootstrap/bootstrap.hpp"
#include "job/known_faces.hpp"
#include "job/state.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// They lie by slot, the base face last. The array is constant-initialised, since static objects of other files register faces.
constinit std::array<const face*, faces_max + 1> registered{};
constinit const face*& base = registered[base_slot];

constexpr const char* key_of_faces = "faces";
constexpr char between_names = '\n';

[[nodiscard]] std::vector<std::string> own_names() {
  std::vector<std::string> all;
  for (std::size_t slot = 0; slot < faces_max; ++slot)
    if (registered[slot] != nullptr) all.emplace_back(registered[slot]->name);
  return all;
}

[[nodiscard]] std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string name; std::getline(lines, name, between_names);) all.push_back(name);
  return all;
}

// The handler for messages of a face that this program does not have.
void refuse_message(void*, worker& here, const comm::event& happened) noexcept {
  network::of(here).refuse(happened, "it is of a face that this program does not have");
}

}  // namespace

std::size_t register_face(const face& one) {
  std::size_t slot = one.slot;
  if (slot == any_slot) {
    slot = faces_max;
    while (slot != 0 && registered[slot - 1] != nullptr) --slot;
    WEFT_ASSERT(slot != 0);  // The program has faces_max faces.
    --slot;
  }
  WEFT_ASSERT(slot < registered.size());
  WEFT_ASSERT(registered[slot] == nullptr);
  registered[slot] = &one;
  return slot;
}

bool faces_of_job::has(int process, std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found != names.end() && of_process[static_cast<std::size_t>(process)]
                                           [static_cast<std::size_t>(found - names.begin())];
}

void tell_faces(bootstrap& between, const std::string& run) {
  std::string all;
  for (const std::string& name : own_names()) all += name + between_names;
  between.put(run + key_of_faces, all);
}

faces_of_job learn_faces(bootstrap& between, const std::string& run) {
  std::vector<std::vector<std::string>> told;
  for (int p = 0; p < between.process_count(); ++p)
    told.push_back(names_in(between.get(p, run + key_of_faces)));
  return faces_of_job::of(told);
}

faces_of_job own_faces() {
  return faces_of_job::of({own_names()});
}

faces_of_job faces_of_job::of(const std::vector<std::vector<std::string>>& told) {
  faces_of_job all;
  for (const auto& some : told) all.names.insert(all.names.end(), some.begin(), some.end());
  std::ranges::sort(all.names);
  const auto twice = std::ranges::unique(all.names);
  all.names.erase(twice.begin(), twice.end());
  for (const auto& some : told) {
    std::vector<bool>& has = all.of_process.emplace_back();
    for (const std::string& name : all.names)
      has.push_back(std::ranges::find(some, name) != some.end());
  }
  return all;
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
  for (std::size_t slot = 0; slot < registered.size(); ++slot) {
    if (registered[slot] == nullptr) continue;
    std::uint8_t kind = first_mail_kind(slot);
    for (const scheduler::mail_handler handler : registered[slot]->mail) {
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

void handler_numbers::take_one() noexcept {
  WEFT_ASSERT(between_ != nullptr);
  WEFT_ASSERT(added_ < most_);
  ++added_;
}

void begin_base(job& j, network* between) {
  if (base == nullptr || base->begin == nullptr) return;
  handler_numbers numbers(between, base_handlers_max);
  j.base = base->begin(j, numbers);
}

// Each face of any program takes face_handlers_max numbers, in the order of their names, so that all processes number alike.
void begin_faces(job& j, network* between) {
  for (const std::string& name : j.known_faces.names) {
    handler_numbers numbers(between, face_handlers_max);
    for (std::size_t slot = 0; slot < faces_max; ++slot)
      if (const face* const one = registered[slot];
          one != nullptr && one->name == name && one->begin != nullptr)
        j.faces[slot] = one->begin(j, numbers);
    if (between == nullptr) continue;
    while (numbers.added_ < face_handlers_max) (void)numbers.add<&refuse_message>(nullptr);
  }
}

}  // namespace weft::detail
