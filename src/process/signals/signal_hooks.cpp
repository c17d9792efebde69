#include "process/signals/signal_hooks.hpp"

#include "sync/published.hpp"

namespace weft::process {
namespace {

constinit published<const signal_hooks*> hooks_of_signals;

}  // namespace

void set_signal_hooks(const signal_hooks& hooks) noexcept {
  hooks_of_signals.publish(&hooks);
}

const signal_hooks* signals_of_ranks() noexcept {
  return hooks_of_signals.value();
}

}  // namespace weft::process
