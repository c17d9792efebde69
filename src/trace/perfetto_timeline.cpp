// Perfetto's binary format. A file is a row of packets, field 1 of the message Trace; the numbers of the
// fields that are written here are documented at perfetto.dev/docs/reference/trace-packet-proto, and
// tests/breakdown/perfetto.proto has just these.
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "trace/timeline.hpp"

namespace weft::timeline {
namespace {

// One message of protocol buffers.
class message {
 public:
  message& number(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  message& fixed(int field, std::uint64_t value) {
    key(field, 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> 8 * i);
    return *this;
  }
  message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  message& within(int field, const message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  void key(int field, unsigned wire) { varint(static_cast<std::uint64_t>(field) << 3 | wire); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

namespace in_trace {
constexpr int packet = 1;
}
namespace in_packet {
constexpr int timestamp = 8, sequence = 10, track_event = 11, interned = 12, sequence_flags = 13,
              track_descriptor = 60;
constexpr std::uint64_t state_cleared = 1, needs_state = 2;
}  // namespace in_packet
namespace in_descriptor {
constexpr int uuid = 1, name = 2, process = 3, parent = 5, counter = 8, child_order = 11,
              order = 12;
constexpr std::uint64_t by_order = 3;
}  // namespace in_descriptor
namespace in_process {
constexpr int pid = 1, name = 6;
}
namespace in_event {
constexpr int annotation = 4, type = 9, name_number = 10, track = 11, category = 22, value = 30,
              flow = 47, end_of_flow = 48;
constexpr std::uint64_t begins = 1, ends = 2, instant = 3, counts = 4;
}  // namespace in_event
namespace in_annotation {
constexpr int whole_number = 4, name = 10;
}
namespace in_interned {
constexpr int event_name = 2, number = 1, name = 2;
}

class perfetto_writer final : public writer {
 public:
  perfetto_writer(std::FILE* file, const trace_part& part, const clock_of_trace& clock)
      : file_(file),
        workers_(group_of_workers(part)),
        sequence_(static_cast<std::uint64_t>(part.process) + 1),
        clock_(clock) {
    flock(fileno(file), LOCK_EX);  // Until it is closed.
    std::fseek(file, 0, SEEK_END);
  }

  void group(int group, const std::string& name, const std::string& note) override {
    message process, described;
    process.number(in_process::pid, static_cast<std::uint64_t>(group))
        .text(in_process::name, note.empty() ? name : name + " (" + note + ")");
    described.number(in_descriptor::uuid, id_of(group))
        .within(in_descriptor::process, process)
        .number(in_descriptor::child_order, in_descriptor::by_order);
    describe(described);
    if (group == rank_group) return;
    for (std::size_t i = 0; i < counter_names.size(); ++i) {
      message counter;
      counter.number(in_descriptor::uuid, id_of(static_cast<timeline::counter>(i)))
          .text(in_descriptor::name, counter_names[i])
          .number(in_descriptor::parent, id_of(group))
          .within(in_descriptor::counter, {});
      describe(counter);
    }
  }

  void track(int group, int number, const std::string& name) override {
    message described;
    described.number(in_descriptor::uuid, id_of(group, number))
        .text(in_descriptor::name, name)
        .number(in_descriptor::parent, id_of(group))
        .number(in_descriptor::order, static_cast<std::uint64_t>(number));
    describe(described);
  }

  void begin(const event& e, int worker) override { put(e, in_event::begins, worker); }
  void end(const event& begun, std::uint64_t end_ticks, int worker) override {
    message ends;
    ends.number(in_event::type, in_event::ends).number(in_event::track, track_of(begun, worker));
    put(end_ticks, ends, {});
  }
  void instant(const event& e, int worker) override { put(e, in_event::instant, worker); }

  void count(counter which, std::uint64_t ticks, std::int64_t value) override {
    message counted;
    counted.number(in_event::type, in_event::counts)
        .number(in_event::track, id_of(which))
        .number(in_event::value, static_cast<std::uint64_t>(value));
    put(ticks, counted, {});
  }

  void finish() override {}

 private:
  // Unlike in the whole file, and never 0: a group, and what is in it.
  static std::uint64_t id_of(int group) noexcept { return static_cast<std::uint64_t>(group) << 32; }
  static std::uint64_t id_of(int group, int number) noexcept {
    return id_of(group) | (static_cast<std::uint64_t>(number) + 1);
  }
  [[nodiscard]] std::uint64_t id_of(counter which) const noexcept {
    return id_of(workers_) | std::uint64_t{1} << 31 | static_cast<std::uint64_t>(which);
  }
  [[nodiscard]] std::uint64_t track_of(const event& e, int worker) const noexcept {
    return style_of(e.kind).on_rank_track ? id_of(rank_group, e.rank) : id_of(workers_, worker);
  }

  void put(const event& e, std::uint64_t type, int worker) {
    const kind_style& style = style_of(e.kind);
    const std::string name = name_of(e);
    const auto [at, is_new] = names_.emplace(name, names_.size() + 1);
    message interned;
    if (is_new) {
      message entry;
      entry.number(in_interned::number, at->second).text(in_interned::name, name);
      interned.within(in_interned::event_name, entry);
    }
    message made;
    made.number(in_event::type, type)
        .number(in_event::track, track_of(e, worker))
        .number(in_event::name_number, at->second)
        .text(in_event::category, style.category);
    const auto annotate = [&](const char* what, std::int64_t value) {
      message note;
      note.text(in_annotation::name, what)
          .number(in_annotation::whole_number, static_cast<std::uint64_t>(value));
      made.within(in_event::annotation, note);
    };
    if (e.kind == trace_kind::send || e.kind == trace_kind::recv) annotate("rank", e.rank);
    if (*style.argument != '\0') annotate(style.argument, argument_of(e));
    if (const std::uint64_t flow = flow_of(e); flow != 0)
      made.fixed(e.kind == trace_kind::send ? in_event::flow : in_event::end_of_flow, flow);
    put(e.time_ticks, made, interned);
  }

  void put(std::uint64_t ticks, const message& event, const message& interned) {
    message packet;
    packet.number(in_packet::timestamp,
                  static_cast<std::uint64_t>(std::max(clock_.ns(ticks), 0.0)));
    packet.within(in_packet::track_event, event);
    if (!interned.bytes().empty()) packet.within(in_packet::interned, interned);
    write(packet);
  }
  void describe(const message& described) {
    message packet;
    write(packet.within(in_packet::track_descriptor, described));
  }
  // Numbers of names hold from a sequence's first packet on.
  void write(message& packet) {
    packet.number(in_packet::sequence, sequence_)
        .number(in_packet::sequence_flags, std::exchange(has_begun_, true)
                                               ? in_packet::needs_state
                                               : in_packet::state_cleared);
    message in_file;
    in_file.within(in_trace::packet, packet);
    std::fwrite(in_file.bytes().data(), 1, in_file.bytes().size(), file_);
  }

  std::FILE* file_;
  int workers_;
  std::uint64_t sequence_;
  clock_of_trace clock_;
  bool has_begun_ = false;
  std::map<std::string, std::uint64_t> names_;
};

}  // namespace

std::unique_ptr<writer> make_perfetto_writer(std::FILE* file, const trace_part& part,
                                             const clock_of_trace& clock) {
  return std::make_unique<perfetto_writer>(file, part, clock);
}

}  // namespace weft::timeline
