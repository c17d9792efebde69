#include "bootstrap/single/single.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/format.hpp"
#include "base/log.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

class single_bootstrap final : public bootstrap {
 public:
  std::string_view name() const noexcept override { return "single"; }
  int process() const noexcept override { return 0; }
  int process_count() const noexcept override { return 1; }
  const std::string& job_id() const noexcept override { return id_; }
  int node_of(int) const override { return 0; }
  std::string host_of(int) const override { return host_name(); }

  void put(std::string_view key, std::string_view value) override {
    const std::lock_guard hold(mutex_);
    values_.insert_or_assign(std::string(key), std::string(value));
  }
  std::string get(int process, std::string_view key) override {
    const std::lock_guard hold(mutex_);
    const auto found = process == 0 ? values_.find(key) : values_.end();
    if (found == values_.end())
      throw error(formatted("process {} has put no key '{}'", process, key));
    return found->second;
  }
  void fence() override {}
  void on_failure(failure_handler) override {}
  void abort(int exit_status, const std::string& why) override {
    log_text(why);
    std::fflush(nullptr);
    std::_Exit(exit_status);
  }
  void finish() noexcept override {}

 private:
  std::string id_ = make_job_id();
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

std::unique_ptr<bootstrap> make_single_bootstrap() {
  return std::make_unique<single_bootstrap>();
}

std::string make_job_id() {
  static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 16> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw error(formatted("cannot make a name for the job: {}", std::strerror(errno)));
  std::string id;
  for (const unsigned char byte : random) id += letters[byte % letters.size()];
  return id;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace weft
