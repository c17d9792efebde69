#include "job/constructors.hpp"

#include "job/state.hpp"
#include "sync/published.hpp"

namespace weft::detail {
namespace {

constinit published<bool> are_expected;

}  // namespace

void expect_constructors() noexcept {
  are_expected.publish(true);
}

void note_constructors_have_run(const job_rank& me) noexcept {
  job& all = *me.of;
  if (&me != all.ranks.front().get() || !are_expected.value()) return;
  are_expected.publish(false);
  for (int i = 0; i < all.workers->worker_count(); ++i) all.workers->at(i).notify();
}

bool have_constructors_run() noexcept {
  return !are_expected.value();
}

}  // namespace weft::detail
