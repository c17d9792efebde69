#include "weftrun/host.hpp"

namespace weft {

namespace {

class local_host final : public host {
 public:
  local_host(event_loop& loop, output_forwarder& output, sweeper& sweeps, host_events events)
      : events_(std::move(events)), children_(loop, output, sweeps, events_.taken) {
    loop.post([this] { events_.ready(cores_of_this_host()); });
  }
  void start(const start_order& order) override { children_.start(order); }
  void send(const frame& what) override { children_.send(what); }
  void signal(int number) override { children_.signal(number); }
  void end() override { children_.end(); }
  void kill_all() override { children_.kill_all(); }
  void reap() override { children_.reap(); }
  void leave() override { events_.gone(""); }

 private:
  host_events events_;
  children children_;
};

}  // namespace

std::unique_ptr<host> make_local_host(event_loop& loop, output_forwarder& output, sweeper& sweeps,
                                      host_events events) {
  return std::make_unique<local_host>(loop, output, sweeps, std::move(events));
}

}  // namespace weft
