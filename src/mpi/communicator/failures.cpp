// Failure mitigation: which ranks have died, communicators that are revoked, agreements and communicators of those that
// live. The names of the proposal begin with MPIX_.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "collective/agreements.hpp"
#include "collective/broken_communicator.hpp"
#include "collective/collectives.hpp"
#include "mpi/communicator/written_handle.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "rank/messages.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// The ranks that are dead, of the group that the caller's messages and those of its peers go to: of an inter-communicator
// both groups.
MPI_Group group_of_failed(state& me, const communicator_object& c, std::size_t count) {
  std::vector<int> numbers;
  const known_failures& known = failures_known_to(*c.shared, c.own);
  for (const int r : std::span(known.ranks).first(count)) numbers.push_back(c.shared->to(r).number);
  return make_group(me, std::move(numbers), c.session);
}

std::shared_ptr<agreements::instance> begin(communicator_object& c, agreement_kind kind,
                                            std::uint32_t flags) {
  return c.shared->of.agreed->begin(*c.shared, c.own, kind, flags);
}

// Writes the flags, also when it throws.
void end_agreement(communicator_state& c, int own, const std::shared_ptr<agreements::instance>& one,
                   int* flag, const char* call) {
  const agreement_outcome outcome = conclude_agreement(c, own, one, call);
  *flag = static_cast<int>(outcome.flags);
  if (outcome.is_unacknowledged)
    fail(
        MPIX_ERR_PROC_FAILED,
        "a rank is dead, and not every rank had acknowledged that: call MPIX_Comm_failure_ack; the "
        "flag is agreed on");
}

MPI_Comm add_shrunk(state& me, weft::communicator made, const communicator_object& parent) {
  return parent.is_inter() ? add_intercommunicator(me, std::move(made), parent)
                           : add_communicator(me, std::move(made), parent);
}

// `*newcomm` is written before the request is complete.
template <class Handle>
void start_shrink(state& me, MPI_Comm comm, Handle* newcomm, MPI_Request* request) {
  check_not_null(newcomm, "newcomm");
  check_not_null(request, "request");
  communicator_object& c = checked_communicator(me, comm);
  give(me, MPI_COMM_NULL, newcomm);
  // What the new one takes of its parent: the program may free that meanwhile.
  const auto model = std::make_shared<communicator_object>(c.ranks);
  model->set_peers(c.peers_first, c.peers_count, c.locals_first);
  model->session = c.session;
  set_error_handler(me, *model, c.handler);
  *request = add_request(
      me, comm,
      start_activity(
          c.ranks.shared_state(),
          [&me, model, newcomm, one = begin(c, agreement_on_living, 0)] {
            give(me,
                 add_shrunk(me,
                            conclude_shrink(*model->shared, model->own, one, "MPIX_Comm_ishrink"),
                            *model),
                 newcomm);
            set_error_handler(me, *model, MPI_ERRORS_ARE_FATAL);
          }),
      "MPIX_Comm_ishrink");
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPIX_Comm_revoke, (MPI_Comm comm)) {
  return in_call(
      "MPIX_Comm_revoke", comm,
      [&](state& me) {
        weft::detail::revoke(*me.rank.home, *checked_communicator(me, comm).shared);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_is_revoked, (MPI_Comm comm, int* flag)) {
  return in_call(
      "MPIX_Comm_is_revoked", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        const communicator_object& c = checked_communicator(me, comm);
        if (!c.is_revoked()) me.rank.home->yield();  // Somebody may have told so.
        *flag = c.is_revoked() ? 1 : 0;
      },
      comm);
}

WEFT_MPI_WAITING_FUNCTION(int, MPIX_Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm)) {
  return in_call(
      "MPIX_Comm_shrink", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        communicator_object& c = checked_communicator(me, comm);
        *newcomm = MPI_COMM_NULL;
        const auto one = begin(c, weft::detail::agreement_on_living, 0);
        *newcomm = add_shrunk(
            me, weft::detail::conclude_shrink(*c.shared, c.own, one, "MPIX_Comm_shrink"), c);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_ishrink,
                  (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request)) {
  return in_call(
      "MPIX_Comm_ishrink", comm, [&](state& me) { start_shrink(me, comm, newcomm, request); },
      comm);
}

// For Fortran. The stub cannot convert the handle: it is written after the stub has returned.
extern "C" int weft_fortran_ishrink(MPI_Comm comm, MPI_Fint* newcomm, MPI_Request* request) {
  return in_call(
      "MPIX_Comm_ishrink", comm, [&](state& me) { start_shrink(me, comm, newcomm, request); },
      comm);
}

WEFT_MPI_WAITING_FUNCTION(int, MPIX_Comm_agree, (MPI_Comm comm, int* flag)) {
  return in_call(
      "MPIX_Comm_agree", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        communicator_object& c = checked_communicator(me, comm);
        const auto one =
            begin(c, weft::detail::agreement_on_flags, static_cast<std::uint32_t>(*flag));
        end_agreement(*c.shared, c.own, one, flag, "MPIX_Comm_agree");
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_iagree, (MPI_Comm comm, int* flag, MPI_Request* request)) {
  return in_call(
      "MPIX_Comm_iagree", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        check_not_null(request, "request");
        communicator_object& c = checked_communicator(me, comm);
        *request = add_request(me, comm,
                               weft::detail::start_activity(
                                   c.ranks.shared_state(),
                                   [shared = c.ranks.shared_state(), own = c.own, flag,
                                    one = begin(c, weft::detail::agreement_on_flags,
                                                static_cast<std::uint32_t>(*flag))] {
                                     end_agreement(*shared, own, one, flag, "MPIX_Comm_iagree");
                                   }),
                               "MPIX_Comm_iagree");
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_failure_ack, (MPI_Comm comm)) {
  return in_call(
      "MPIX_Comm_failure_ack", comm,
      [&](state& me) {
        const communicator_object& c = checked_communicator(me, comm);
        weft::detail::known_failures& known = weft::detail::failures_known_to(*c.shared, c.own);
        known.acknowledged = known.ranks.size();
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_failure_get_acked, (MPI_Comm comm, MPI_Group* failedgrp)) {
  return in_call(
      "MPIX_Comm_failure_get_acked", comm,
      [&](state& me) {
        check_not_null(failedgrp, "failedgrp");
        const communicator_object& c = checked_communicator(me, comm);
        *failedgrp =
            group_of_failed(me, c, weft::detail::failures_known_to(*c.shared, c.own).acknowledged);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp)) {
  return in_call(
      "MPIX_Comm_get_failed", comm,
      [&](state& me) {
        check_not_null(failedgrp, "failedgrp");
        const communicator_object& c = checked_communicator(me, comm);
        me.rank.home->yield();  // It looks at what has come.
        *failedgrp =
            group_of_failed(me, c, weft::detail::failures_known_to(*c.shared, c.own).ranks.size());
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPIX_Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked)) {
  return in_call(
      "MPIX_Comm_ack_failed", comm,
      [&](state& me) {
        check_not_null(num_acked, "num_acked");
        check_count(num_to_ack);
        const communicator_object& c = checked_communicator(me, comm);
        weft::detail::known_failures& known = weft::detail::failures_known_to(*c.shared, c.own);
        known.acknowledged = std::max(
            known.acknowledged, std::min(static_cast<std::size_t>(num_to_ack), known.ranks.size()));
        *num_acked = static_cast<int>(known.acknowledged);
      },
      comm, num_to_ack);
}
