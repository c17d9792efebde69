// Chrome's trace format as JSON, which ui.perfetto.dev and chrome://tracing read.
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "base/log.hpp"
#include "trace/timeline.hpp"

namespace weft::timeline {
namespace {

// The track of a worker, thread or rank. Viewers take track 0 of a group for the one whose number is
// the group's.
constexpr int tracks_begin = 1'000'000;  // Beyond the number of any group.
constexpr int track_of(int number) noexcept {
  return tracks_begin + number;
}

class json_writer final : public writer {
 public:
  json_writer(std::FILE* file, const trace_part& part, const clock_of_trace& clock)
      : file_(file), workers_(group_of_workers(part)), clock_(clock) {
    const int descriptor = fileno(file);
    flock(descriptor, LOCK_EX);  // Until it is closed.
    const off_t written = lseek(descriptor, 0, SEEK_END);
    first_ = written <= static_cast<off_t>(end_of_file.size());
    if (first_)
      write(R"({"displayTimeUnit":"ns","traceEvents":[)");
    else if (std::fseek(file, static_cast<long>(written) - static_cast<long>(end_of_file.size()),
                        SEEK_SET) != 0)
      log_line("cannot add to the trace: {}", std::strerror(errno));
  }

  void group(int group, const std::string& name, const std::string& note) override {
    metadata("process_name", group, 0, formatted(R"("name":"{}")", name));
    // Ranks stand below the workers.
    metadata("process_sort_index", group, 0,
             formatted(R"("sort_index":{})", group == rank_group ? 1 << 20 : group));
    if (!note.empty()) metadata("process_labels", group, 0, formatted(R"("labels":"{}")", note));
  }

  void track(int group, int number, const std::string& name) override {
    metadata("thread_name", group, track_of(number), formatted(R"("name":"{}")", name));
    metadata("thread_sort_index", group, track_of(number), formatted(R"("sort_index":{})", number));
  }

  void begin(const event&, int) override {}  // A slice is one object, written at its end.
  void end(const event& begun, std::uint64_t end_ticks, int worker) override {
    object(formatted(R"("ph":"X","ts":{:.3f},"dur":{:.3f},{})", time_us(begun.time_ticks),
                     time_us(end_ticks) - time_us(begun.time_ticks),
                     place_and_name(begun, worker)));
  }

  void instant(const event& e, int worker) override {
    object(formatted(R"("ph":"i","s":"t","ts":{:.3f},{})", time_us(e.time_ticks),
                     place_and_name(e, worker)));
  }

  void count(counter which, std::uint64_t ticks, std::int64_t value) override {
    object(formatted(R"("ph":"C","ts":{:.3f},"pid":{},"name":"{}","args":{{"value":{}}})",
                     time_us(ticks), workers_, counter_names[static_cast<std::size_t>(which)],
                     value));
  }

  void finish() override { write(end_of_file); }

 private:
  void metadata(const char* kind, int group, int track, const std::string& arguments) {
    object(formatted(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}})", kind, group, track,
                     arguments));
  }

  std::string place_and_name(const event& e, int worker) {
    const kind_style& style = style_of(e.kind);
    std::string arguments = e.kind == trace_kind::park ? "" : formatted(R"("rank":{})", e.rank);
    if (*style.argument != '\0')
      arguments += formatted(R"(,"{}":{})", style.argument, argument_of(e));
    return formatted(R"("pid":{},"tid":{},"cat":"{}","name":"{}","args":{{{}}})",
                     style.on_rank_track ? rank_group : workers_,
                     track_of(style.on_rank_track ? e.rank : worker), style.category, name_of(e),
                     arguments);
  }

  double time_us(std::uint64_t ticks) const { return clock_.ns(ticks) / 1000; }

  void object(const std::string& fields) {
    write(formatted("{}\n{{{}}}", first_ ? "" : ",", fields));
    first_ = false;
  }

  void write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }

  static constexpr std::string_view end_of_file = "\n]}\n";

  std::FILE* file_;
  int workers_;
  clock_of_trace clock_;
  bool first_;
};

}  // namespace

std::unique_ptr<writer> make_json_writer(std::FILE* file, const trace_part& part,
                                         const clock_of_trace& clock) {
  return std::make_unique<json_writer>(file, part, clock);
}

}  // namespace weft::timeline
