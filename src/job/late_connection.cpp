#include "job/late_connection.hpp"

#include "base/log.hpp"
#include "bootstrap/single/single.hpp"

namespace weft::detail {
namespace {

std::unique_ptr<network> make_network(const job& j, bootstrap& of) {
  comm::runtime_options core;
  core.devices = j.workers->worker_count();
  core.transport = j.how.transport;
  core.secure = j.how.secure;
  return std::make_unique<network>(of, core);
}

}  // namespace

bool is_joined_with(const job& j, int process) {
  bool any = false;
  j.each_face([&](face_job& face) { any |= face.is_joined_with(process); });
  return any;
}

late_connection::late_connection(job& j)
    : bootstrap_(make_single_bootstrap()),
      between_(make_network(j, *bootstrap_)),
      numbers_(between_.get(), base_handlers_max) {
  between_->set_visitor([&j](int worker) {
    bool any = false;
    j.each_face(
        [&](face_job& face) { any |= face.end_operations_with_dead(j.workers->at(worker)); });
    return any;
  });
  between_->set_failure_handler([&j](int process, const std::string& why) {
    if (!is_joined_with(j, process)) return;
    const std::string text = "a process of a job that this one was joined with has died: " + why;
    if (j.how.on_failure == "error") return log_text(text);
    j.tell_failure(text);
    j.workers->request_stop();
  });
  between_->attach_late(*j.workers, hook_);
}

late_connection::~late_connection() {
  between_->detach();
}

}  // namespace weft::detail
