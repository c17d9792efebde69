// In a checked job: as which datatypes messages were sent, and as which they were received. Messages
// with the same communicator, sender, receiver and tag are received in the order of their receives,
// so what belongs together is known when the ranks of a process call MPI_Finalize.
//
// Called only where the job is checked. A lock of its own guards it: it is not meant to be fast.
#pragma once
#include "mpi/transfer.hpp"

namespace weft::mpi {

[[nodiscard]] inline bool keeps_ledger(const state& me) noexcept {
  return me.rank.of->checks != nullptr;
}

// `type` is null where it is not known: then nothing is compared.
void note_sent(state& me, const route& to, const datatype_object* type, MPI_Count count);
void note_sent(state& me, const detail::envelope& from, int receiver);

// A receive takes its turn when it is posted, and is noted when its message is known. That of a
// request is kept under its operation meanwhile.
[[nodiscard]] std::uint64_t take_turn(state& me);
void note_received(state& me, std::uint64_t turn, std::uint32_t context,
                   const message_status& message, const datatype_object* type, MPI_Count count);
void note_posted(state& me, const detail::operation& op, const datatype_object* type,
                 MPI_Count count);
void note_concluded(state& me, const detail::operation& op);
// A send was taken back: what belongs together after it is not known.
void note_asked_back(state& me, const detail::operation& op, int receiver);

// The parts of a collective between two ranks, each a message in the order in which the ranks call
// collectives. Ranks of other processes are passed over.
void note_given(state& me, const communicator_object& c, int taker, const datatype_object& type,
                MPI_Count count);
void note_taken(state& me, const communicator_object& c, const char* call, int giver,
                const datatype_object& type, MPI_Count count);
// Of a reduction, whose ranks all name the same: compared with what one of them names.
void note_reduced(state& me, const communicator_object& c, const char* call, int leader,
                  const datatype_object& type, MPI_Count count);

// Reports what was received otherwise than it was sent. Called by each rank when all have sent and
// received everything.
void compare_types(state& me);

}  // namespace weft::mpi
