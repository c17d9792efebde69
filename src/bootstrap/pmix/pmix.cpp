#include "bootstrap/pmix/pmix.hpp"

#include <dlfcn.h>
#include <pmix.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/format.hpp"
#include "base/library_function.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "bootstrap/place.hpp"
#include "bootstrap/single/single.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

// The functions of libpmix that are called.
struct pmix_library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Error_string) error_string;
  decltype(&PMIx_Register_event_handler) register_event_handler;
};

void* open_library() {
  // Its own plug-ins look for its symbols, hence RTLD_GLOBAL.
  for (const char* name : {"libpmix.so.2", WEFT_PMIX_LIBRARY_DIR "/libpmix.so.2"})
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return library;
  throw error(formatted("a PMIx launcher started this program, and libpmix cannot be loaded: {}",
                        ::dlerror()));
}

pmix_library load_library() {
  void* const library = open_library();
  pmix_library all{};
  find_function(library, "libpmix", "PMIx_Init", all.init);
  find_function(library, "libpmix", "PMIx_Finalize", all.finalize);
  find_function(library, "libpmix", "PMIx_Abort", all.abort);
  find_function(library, "libpmix", "PMIx_Put", all.put);
  find_function(library, "libpmix", "PMIx_Commit", all.commit);
  find_function(library, "libpmix", "PMIx_Fence", all.fence);
  find_function(library, "libpmix", "PMIx_Get", all.get);
  find_function(library, "libpmix", "PMIx_Error_string", all.error_string);
  find_function(library, "libpmix", "PMIx_Register_event_handler", all.register_event_handler);
  return all;
}

pmix_info_t fact(const char* key, bool value) {
  pmix_info_t info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = value;
  return info;
}

pmix_info_t fact(const char* key, int value) {
  pmix_info_t info = fact(key, false);
  info.value.type = PMIX_INT;
  info.value.data.integer = value;
  return info;
}

// The connection to the PMIx server. It lasts as long as the process, over all its jobs.
class server {
 public:
  server() : library_(load_library()) {
    check(library_.init(&self_, nullptr, 0),
          "a PMIx launcher seems to have started this program, but its server does not answer");
    size_ = static_cast<int>(job_size());
    register_for_failures();
  }

  int process() const noexcept { return static_cast<int>(self_.rank); }
  int process_count() const noexcept { return size_; }
  std::string_view space() const noexcept { return self_.nspace; }

  void put(const std::string& key, std::string_view bytes) {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = const_cast<char*>(bytes.data());
    value.data.bo.size = bytes.size();
    check(library_.put(PMIX_GLOBAL, key.c_str(), &value), formatted("cannot put key '{}'", key));
  }

  void fence() {
    check(library_.commit(), "cannot publish what was put");
    const pmix_info_t collect = fact(PMIX_COLLECT_DATA, true);
    check(library_.fence(nullptr, 0, &collect, 1), "the fence of all processes failed");
  }

  std::string get(int process, const std::string& key) {
    pmix_proc_t of = self_;
    of.rank = static_cast<pmix_rank_t>(process);
    // What a fence has passed is known to the server: no waiting for what nobody put.
    const pmix_info_t how[] = {fact(PMIX_IMMEDIATE, true), fact(PMIX_TIMEOUT, bootstrap_wait_s)};
    pmix_value_t* value = nullptr;
    const pmix_status_t status = library_.get(&of, key.c_str(), how, 2, &value);
    if (status != PMIX_SUCCESS || value == nullptr || value->type != PMIX_BYTE_OBJECT)
      throw error(formatted("process {} has put no key '{}' ({})", process,
                            key.substr(key.find(' ') + 1), library_.error_string(status)));
    std::string bytes(value->data.bo.bytes, value->data.bo.size);
    std::free(value->data.bo.bytes);
    std::free(value);
    return bytes;
  }

  [[noreturn]] void abort(int exit_status, const std::string& why) {
    library_.abort(exit_status, why.c_str(), nullptr, 0);
    std::_Exit(exit_status);
  }

  // A process that has left a job in good order may go; any other must be missed by the launcher.
  void finalize() noexcept {
    if (!joined_) library_.finalize(nullptr, 0);
  }

  // Returns how many jobs this process has had before.
  int join() {
    const std::lock_guard hold(mutex_);
    if (joined_)
      throw error(
          "this process takes part in a job of several processes already: one weft::run() at a "
          "time, and none beside a comm::runtime of that job");
    joined_ = true;
    return session_++;
  }
  void finish() {
    const std::lock_guard hold(mutex_);
    joined_ = false;
    handler_ = nullptr;
  }

  void on_failure(bootstrap::failure_handler handler) {
    const std::lock_guard hold(mutex_);
    handler_ = std::move(handler);
    if (!handler_) return;
    for (const auto& [process, why] : failures_) handler_(process, why);
  }
  void failed(int process, const std::string& why) {
    const std::lock_guard hold(mutex_);
    if (process == this->process() || !failures_.emplace(process, why).second) return;
    if (handler_) handler_(process, why);
  }

 private:
  void check(pmix_status_t status, const std::string& what) const {
    if (status != PMIX_SUCCESS)
      throw error(formatted("{} ({})", what, library_.error_string(status)));
  }

  std::uint32_t job_size() {
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = nullptr;
    check(library_.get(&all, PMIX_JOB_SIZE, nullptr, 0, &value),
          "the PMIx server does not say how many processes the job has");
    const std::uint32_t size = value->data.uint32;
    std::free(value);
    return size;
  }

  void register_for_failures();

  pmix_library library_;
  pmix_proc_t self_{};
  int size_ = 0;
  std::mutex mutex_;  // Of all below; held while the handler runs.
  bool joined_ = false;
  int session_ = 0;
  bootstrap::failure_handler handler_;
  std::map<int, std::string> failures_;
};

server* the_server = nullptr;  // Never freed; ends with the process.

// Called by PMIx's thread.
void on_event(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t info[],
              std::size_t info_count, pmix_info_t*, std::size_t,
              pmix_event_notification_cbfunc_fn_t done, void* done_argument) {
  pmix_rank_t rank = source != nullptr ? source->rank : PMIX_RANK_UNDEF;
  for (std::size_t i = 0; i < info_count; ++i)
    if (std::strcmp(info[i].key, PMIX_EVENT_AFFECTED_PROC) == 0 &&
        info[i].value.type == PMIX_PROC && info[i].value.data.proc != nullptr)
      rank = info[i].value.data.proc->rank;
  if (the_server != nullptr && rank < static_cast<pmix_rank_t>(the_server->process_count()))
    the_server->failed(static_cast<int>(rank),
                       formatted("process {} ended, says its launcher", rank));
  if (done != nullptr)
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_argument);
}

void server::register_for_failures() {
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTING,
                           PMIX_ERR_PROC_TERM_WO_SYNC};
  // Where a launcher delivers none of these, the transports notice the death of a peer.
  library_.register_event_handler(codes, std::size(codes), nullptr, 0, &on_event, nullptr, nullptr);
}

server& begin_server() {
  if (the_server == nullptr) {
    the_server = new server();
    std::atexit([] { the_server->finalize(); });
  }
  return *the_server;
}

class pmix_bootstrap final : public bootstrap {
 public:
  explicit pmix_bootstrap(server& with) : with_(with), session_(with.join()) {
    for (const char c : with_.space())
      id_ += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
    put(place_key, place_of_this_process());
    if (process() == 0) put(id_key, make_job_id());
    fence();
    std::vector<std::string> places;
    for (int i = 0; i < process_count(); ++i) places.push_back(get(i, place_key));
    nodes_ = nodes_of(places);
    for (const std::string& place : places) hosts_.push_back(host_of_place(place));
    id_ += formatted("-{}", get(0, id_key));
  }

  // The server outlives it, and a job that could not begin has not called finish().
  ~pmix_bootstrap() override { with_.on_failure(nullptr); }

  std::string_view name() const noexcept override { return "pmix"; }
  int process() const noexcept override { return with_.process(); }
  int process_count() const noexcept override { return with_.process_count(); }
  const std::string& job_id() const noexcept override { return id_; }
  int node_of(int process) const override { return nodes_.at(static_cast<std::size_t>(process)); }
  std::string host_of(int process) const override {
    return hosts_.at(static_cast<std::size_t>(process));
  }

  void put(std::string_view key, std::string_view value) override {
    with_.put(name_of(key), value);
  }
  std::string get(int process, std::string_view key) override {
    if (process < 0 || process >= process_count())
      throw error(formatted("there is no process {}; the job has {}", process, process_count()));
    return with_.get(process, name_of(key));
  }
  void fence() override { with_.fence(); }
  void on_failure(failure_handler handler) override { with_.on_failure(std::move(handler)); }
  void abort(int exit_status, const std::string& why) override {
    log_text(why);
    std::fflush(nullptr);
    with_.abort(exit_status, why);
  }
  void finish() noexcept override { with_.finish(); }

 private:
  static constexpr std::string_view place_key = "weft place";
  static constexpr std::string_view id_key = "weft id";

  // Jobs of one process, one after the other, share the server's store.
  std::string name_of(std::string_view key) const { return formatted("weft{} {}", session_, key); }

  server& with_;
  const int session_;
  std::string id_;
  std::vector<int> nodes_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::unique_ptr<bootstrap> make_pmix_bootstrap() {
  return std::make_unique<pmix_bootstrap>(begin_server());
}

}  // namespace weft
