// In a checked job: the datatypes with which messages were sent and received. Each rank notes what it sends and
// receives. Messages with the same communicator, sender, receiver and tag are received in the order of their
// receives. So when all ranks call MPI_Finalize, each tells the others what it has sent to them, and they compare.
//
// In a job of one process the same notes say what happened before what (diagnosis/races.hpp).
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
// A synchronous send is over: its receiver has begun to receive.
void note_answered(state& me, const route& to);

// A receive takes its turn when it is posted, and is noted when its message is known. The turn of a request is kept
// under its operation meanwhile.
[[nodiscard]] std::uint64_t take_turn(state& me);
// `type` is null where it is not known: then nothing is compared.
void note_received(state& me, std::uint64_t turn, const route& from, const message_status& message,
                   MPI_Count count, const char* call);
void note_posted(state& me, const detail::operation& op, const datatype_object* type,
                 MPI_Count count);
void note_concluded(state& me, const detail::operation& op);
// A message that MPI_Mprobe takes takes its turn then, and is noted when it is received or, without a type, dropped.
void note_matched(state& me, const detail::unexpected_message& m);
void note_matched_received(state& me, const detail::unexpected_message& m,
                           const datatype_object* type, MPI_Count count);
// Note the datatype of a persistent request, and that it is started.
void note_made(state& me, const detail::operation& op, const datatype_object* type,
               MPI_Count count);
void note_started(state& me, const detail::operation& op, int receiver);
// A send was cancelled or refused: from then on it is not known which messages belong together.
void note_lost(state& me, int receiver, const detail::envelope& from);

// Note the parts of a collective between two ranks: each counts as a message, in the order in which the ranks call
// collectives. `way` tells parts apart that have no order.
void note_given(state& me, const communicator_object& c, int taker, const datatype_object& type,
                MPI_Count count, int way = 0);
void note_taken(state& me, const communicator_object& c, const char* call, int giver,
                const datatype_object& type, MPI_Count count, int way = 0);
// Notes the datatype of a reduction, in which all ranks must name the same: it is compared with that of rank `leader`.
void note_reduced(state& me, const communicator_object& c, const char* call, int leader,
                  const datatype_object& type, MPI_Count count);

// Reports messages that were received with other datatypes than they were sent with. Called by all ranks together,
// when all have sent and received everything.
void compare_types(state& me);

}  // namespace weft::mpi
