#include "rank/names.hpp"

namespace weft::detail {

face_names* names_of(const rank_state* r) noexcept {
  if (r == nullptr) return nullptr;
  for (const auto& face : r->faces)
    if (auto* const names = dynamic_cast<face_names*>(face.get()); names != nullptr) return names;
  return nullptr;
}

std::string communicator_name(const rank_state* r, std::uint32_t context) {
  context = base_context(context);
  if (face_names* const names = names_of(r)) return names->name_of_communicator(context);
  return "communicator " + std::to_string(context);
}

std::string name_of_peer(const rank_state* r, std::uint32_t context, int peer) {
  face_names* const names = names_of(r);
  return peer < 0 || names == nullptr ? rank_name(peer)
                                      : names->name_of_peer(base_context(context), peer);
}

std::string name_of(const communicator_state& c) {
  const rank_state* teller = nullptr;
  for (const member& m : c.members)
    if (m.rank != nullptr && (teller == nullptr || m.rank->home == worker::current()))
      teller = m.rank;
  return communicator_name(teller, c.context);
}

}  // namespace weft::detail
