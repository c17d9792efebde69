#include "bootstrap/pmi1/pmi1.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/format.hpp"
#include "base/kernel.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "bootstrap/local/frame.hpp"
#include "bootstrap/place.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

std::optional<int> number_of(std::string_view text) {
  int value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int> number_in(const char* variable) {
  const char* const text = ::secure_getenv(variable);
  return text == nullptr ? std::nullopt : number_of(text);
}

// Values are words of a line there: any bytes, as two letters each.
std::string lettered(std::string_view bytes) {
  std::string letters;
  letters.reserve(2 * bytes.size());
  for (const char c : bytes) {
    letters += static_cast<char>('a' + (static_cast<unsigned char>(c) >> 4));
    letters += static_cast<char>('a' + (static_cast<unsigned char>(c) & 15));
  }
  return letters;
}

std::string bytes_of(std::string_view letters) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < letters.size(); i += 2)
    bytes += static_cast<char>(((letters[i] - 'a') << 4) | (letters[i + 1] - 'a'));
  return bytes;
}

// The conversation with hydra: a line out, a line back. It lasts as long as the process, over all
// its jobs; one thread at a time.
class conversation {
 public:
  conversation(int descriptor, int number, int count)
      : process(number), process_count(count), descriptor_(descriptor) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    const auto limits = ask("cmd=get_maxes", "maxes");
    value_size_max_ = static_cast<std::size_t>(
        std::max(2, number_of(field(limits, "vallen_max")).value_or(1024) - 1));
    space_ = field(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
  }

  const int process;
  const int process_count;
  std::mutex mutex;
  int epoch = 0;  // Fences passed; each process has published once before each.
  bool joined = false;
  int session = 0;

  const std::string& space() const noexcept { return space_; }

  void publish(std::string_view bytes) {
    const std::string letters = lettered(bytes);
    const std::size_t pieces = (letters.size() + value_size_max_ - 1) / value_size_max_;
    const std::string name = formatted("weft.{}.{}", process, epoch);
    put(name, formatted("{}", pieces));
    for (std::size_t i = 0; i < pieces; ++i)
      put(formatted("{}.{}", name, i), letters.substr(i * value_size_max_, value_size_max_));
  }

  void barrier() {
    ask("cmd=barrier_in", "barrier_out");
    ++epoch;
  }

  // What a process published before the fence number `of_epoch`.
  std::string published(int by, int of_epoch) {
    const std::string name = formatted("weft.{}.{}", by, of_epoch);
    const int pieces = number_of(get(name)).value_or(0);
    std::string letters;
    for (int i = 0; i < pieces; ++i) letters += get(formatted("{}.{}", name, i));
    return bytes_of(letters);
  }

  // Hydra ends the whole job; nothing comes back.
  void abort(int exit_status) {
    static_cast<void>(send_line(formatted("cmd=abort exitcode={}", exit_status)));
  }

  void finalize() noexcept {
    try {
      if (!joined) ask("cmd=finalize", "finalize_ack");
    } catch (const std::exception&) {
      // The launcher is gone; so is whoever would care.
    }
  }

 private:
  void put(const std::string& key, const std::string& value) {
    ask(formatted("cmd=put kvsname={} key={} value={}", space_, key, value), "put_result");
  }
  std::string get(const std::string& key) {
    return field(ask(formatted("cmd=get kvsname={} key={}", space_, key), "get_result"), "value");
  }

  bool send_line(std::string line) {
    line += '\n';
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  std::map<std::string, std::string> ask(const std::string& line, std::string_view expected) {
    if (!send_line(line)) throw error("the connection to the launcher (PMI_FD) is broken");
    std::size_t end;
    while ((end = received_.find('\n')) == received_.npos) {
      char part[4096];
      const ssize_t size = ::read(descriptor_, part, sizeof part);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) throw error("the launcher has closed the connection (PMI_FD)");
      received_.append(part, static_cast<std::size_t>(size));
    }
    const std::string answer = received_.substr(0, end);
    received_.erase(0, end + 1);
    std::map<std::string, std::string> fields;
    for (std::size_t at = 0; at < answer.size();) {
      const std::size_t stop = std::min(answer.find(' ', at), answer.size());
      const std::string word = answer.substr(at, stop - at);
      if (const std::size_t equals = word.find('='); equals != word.npos)
        fields[word.substr(0, equals)] = word.substr(equals + 1);
      at = stop + 1;
    }
    if (field(fields, "cmd") != expected || (fields.contains("rc") && fields["rc"] != "0"))
      throw error(formatted("the launcher answers '{}' to '{}'", answer, line));
    return fields;
  }

  static std::string field(const std::map<std::string, std::string>& fields,
                           const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }

  const int descriptor_;
  std::string received_;
  std::size_t value_size_max_ = 0;
  std::string space_;
};

conversation* the_conversation = nullptr;  // Never freed; ends with the process.

conversation& begin_conversation() {
  if (the_conversation != nullptr) return *the_conversation;
  const auto descriptor = number_in("PMI_FD");
  const auto process = number_in("PMI_RANK");
  const auto count = number_in("PMI_SIZE");
  struct stat file;
  if (!descriptor || !process || !count || ::fstat(*descriptor, &file) != 0 ||
      !S_ISSOCK(file.st_mode))
    throw error(
        "PMI_FD names no connection to hydra's mpiexec: something between it and this program "
        "closed it; unset PMI_FD to run the program alone");
  ::fcntl(*descriptor, F_SETFD, FD_CLOEXEC);
  the_conversation = new conversation(*descriptor, *process, *count);
  std::atexit([] { the_conversation->finalize(); });
  return *the_conversation;
}

class pmi1_bootstrap final : public bootstrap {
 public:
  explicit pmi1_bootstrap(conversation& with) : with_(with), first_epoch_(with.epoch) {
    const std::lock_guard hold(with_.mutex);
    if (with_.joined)
      throw error(
          "this process takes part in a job of several processes already: one weft::run() at a "
          "time, and none beside a comm::runtime of that job");
    with_.joined = true;
    for (const char c : with_.space())
      id_ += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
    id_ += formatted("-{}", with_.session++);
    unpublished_ = field_writer().text(place_key).text(place_of_this_process()).take();
    pass();
    std::vector<std::string> places;
    for (int i = 0; i < with_.process_count; ++i) places.push_back(find(i, place_key));
    nodes_ = nodes_of(places);
    for (const std::string& place : places) hosts_.push_back(host_of_place(place));
  }

  std::string_view name() const noexcept override { return "pmi1"; }
  int process() const noexcept override { return with_.process; }
  int process_count() const noexcept override { return with_.process_count; }
  const std::string& job_id() const noexcept override { return id_; }
  int node_of(int process) const override { return nodes_.at(static_cast<std::size_t>(process)); }
  std::string host_of(int process) const override {
    return hosts_.at(static_cast<std::size_t>(process));
  }

  void put(std::string_view key, std::string_view value) override {
    const std::lock_guard hold(with_.mutex);
    unpublished_ += field_writer().text(key).text(value).take();
  }
  std::string get(int process, std::string_view key) override {
    const std::lock_guard hold(with_.mutex);
    if (process < 0 || process >= with_.process_count)
      throw error(formatted("there is no process {}; the job has {}", process, process_count()));
    return find(process, key);
  }
  void fence() override {
    const std::lock_guard hold(with_.mutex);
    pass();
  }
  // Hydra ends the job when a process dies and tells nobody.
  void on_failure(failure_handler) override {}
  void abort(int exit_status, const std::string& why) override {
    log_text(why);
    std::fflush(nullptr);
    // Having been told, hydra forwards nothing more, not even what it has not read yet.
    sleep_in_kernel(std::chrono::milliseconds(50));
    with_.abort(exit_status);
    std::_Exit(exit_status);
  }
  void finish() noexcept override {
    const std::lock_guard hold(with_.mutex);
    with_.joined = false;
  }

 private:
  static constexpr std::string_view place_key = "weft place";

  void pass() {
    with_.publish(unpublished_);
    unpublished_.clear();
    with_.barrier();
  }

  std::string find(int process, std::string_view key) {
    known& of = known_[process];
    for (; of.epochs < with_.epoch - first_epoch_; ++of.epochs) {
      const std::string bytes = with_.published(process, first_epoch_ + of.epochs);
      for (field_reader fields(bytes); !fields.rest().empty();) {
        std::string name(fields.text());
        of.values.insert_or_assign(std::move(name), std::string(fields.text()));
      }
    }
    const auto found = of.values.find(key);
    if (found == of.values.end())
      throw error(formatted("process {} has put no key '{}'", process, key));
    return found->second;
  }

  struct known {
    int epochs = 0;  // Read so far.
    std::map<std::string, std::string, std::less<>> values = {};
  };

  conversation& with_;
  const int first_epoch_;
  std::string id_;
  std::string unpublished_;  // Pairs of key and value since the last fence.
  std::map<int, known> known_;
  std::vector<int> nodes_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::unique_ptr<bootstrap> make_pmi1_bootstrap() {
  return std::make_unique<pmi1_bootstrap>(begin_conversation());
}

}  // namespace weft
