// In a checked job: as which datatypes messages were sent, and as which they were received. Each rank
// notes what it sends and receives. Messages with the same communicator, sender, receiver and tag are
// received in the order of their receives, so what belongs together is known when all ranks call
// MPI_Finalize: there each tells the others what it has sent to them, wherever they are.
//
// Called only where the job is checked: it is not meant to be fast.
#pragma once
#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {

// Made by the first note.
class type_ledger;

[[nodiscard]] inline bool keeps_ledger(const state& me) noexcept {
  return me.rank.of->checks != nullptr;
}

void note_sent(state& me, const route& to, const datatype_object* type, MPI_Count count);

// A receive takes its turn when it is posted, and is noted when its message is known. That of a
// request is kept under its operation meanwhile.
[[nodiscard]] std::uint64_t take_turn(state& me);
// `type` is null where it is not known: then nothing is compared.
void note_received(state& me, std::uint64_t turn, std::uint32_t context,
                   const message_status& message, const datatype_object* type, MPI_Count count);
void note_posted(state& me, const detail::operation& op, const datatype_object* type,
                 MPI_Count count);
void note_concluded(state& me, const detail::operation& op);
// A message that MPI_Mprobe takes out has its turn then, and is noted when it is received or, without
// a type, dropped.
void note_matched(state& me, const detail::unexpected_message& m);
void note_matched_received(state& me, const detail::unexpected_message& m,
                           const datatype_object* type, MPI_Count count);
// Of a persistent request what each of its messages is sent or received as; then that it is started.
void note_made(state& me, const detail::operation& op, const datatype_object* type,
               MPI_Count count);
void note_started(state& me, const detail::operation& op, int receiver);
// A send was taken back: what belongs together is not known.
void note_asked_back(state& me, const detail::operation& op, int receiver);

// The parts of a collective between two ranks, each a message in the order in which the ranks call
// collectives. `way` tells those apart between which there is no order.
void note_given(state& me, const communicator_object& c, int taker, const datatype_object& type,
                MPI_Count count, int way = 0);
void note_taken(state& me, const communicator_object& c, const char* call, int giver,
                const datatype_object& type, MPI_Count count, int way = 0);
// Of a reduction, whose ranks all name the same: compared with what one of them names.
void note_reduced(state& me, const communicator_object& c, const char* call, int leader,
                  const datatype_object& type, MPI_Count count);

// Reports what was received otherwise than it was sent. Called by all ranks together, when all have
// sent and received everything.
void compare_types(state& me);

}  // namespace weft::mpi
