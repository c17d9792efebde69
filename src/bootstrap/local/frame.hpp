// The messages between weftrun, its agents on other hosts and the processes of a job: frames of a header and a payload,
// over sockets and pipes that only they hold. docs/protocols/starting.md says who sends what when.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace weft {

enum class frame_kind : std::uint16_t {
  // From a process.
  join = 1,  // It takes part from now on; payload: its process id.
  put,       // payload: a pair, key and value.
  get,       // argument: number of the request; payload: a pair, whose process and key.
  fence,
  abort,   // argument: exit status; payload: why.
  finish,  // It leaves in good order; argument: how many jobs of this process have ended before.
  told,    // It has told people why the job ends; argument: exit status.

  // To a process.
  welcome,  // payload: a job_description.
  value,    // argument: number of the request.
  refused,  // argument: number of the request; payload: why.
  fence_done,
  failed,  // argument: the process that died; payload: why.

  // Between weftrun and an agent, beside all of the above with `process` set.
  hello,        // To the agent: payload: the job's id and weftrun's version.
  ready,        // From the agent: argument: CPUs; payload: its version.
  start,        // payload: a start_order.
  started,      // argument: the process id on its host.
  not_started,  // argument: errno of execvp().
  output,       // argument: 1 or 2; payload: whole lines. To the agent: nobody reads it any more.
  output_room,  // argument: how many more bytes may be sent.
  input,        // payload: for stdin of the process; empty: its end.
  exited,       // argument: as wait() reports it.
  signal,       // argument: its number, to every process of the host.
  end,          // To the agent: ask every process to end, then force it.
  leave,        // To the agent: nothing more will be asked of it.
  beat,         // Both ways, every second: the other side is there.
};

struct frame_header {
  std::uint32_t size;  // Bytes of the payload.
  frame_kind kind;
  std::uint16_t magic;
  std::uint32_t process;
  std::int32_t argument;
};
static_assert(sizeof(frame_header) == 16 && std::is_trivially_copyable_v<frame_header>);

struct frame {
  frame_kind kind = frame_kind::join;
  int process = 0;
  int argument = 0;
  std::string payload = {};
};

// Appends the bytes of a frame. Throws weft::error when the payload is above frame_bytes_max.
void append_frame(std::string& to, const frame& what);

// Cuts a stream of bytes into frames.
class frame_reader {
 public:
  // Reads once from a descriptor. False at its end and when it is broken; true when a non-blocking one has nothing.
  [[nodiscard]] bool read_from(int descriptor);
  void append(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole frame. Throws weft::error when what was read cannot be one.
  [[nodiscard]] std::optional<frame> next();

 private:
  std::string bytes_;
  std::size_t used_ = 0;
};

// Writes all bytes, waiting while the descriptor is full. False when it is broken.
[[nodiscard]] bool write_all(int descriptor, std::string_view bytes) noexcept;

// Fields of a payload, in the order in which they were put in.
class field_writer {
 public:
  field_writer& number(std::int64_t value);
  field_writer& text(std::string_view value);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws weft::error when a field is not there.
class field_reader {
 public:
  explicit field_reader(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t number();
  std::string_view text();
  std::string_view rest() const noexcept { return bytes_; }

 private:
  std::string_view take(std::size_t size);
  std::string_view bytes_;
};

// What a process learns when it joins.
struct job_description {
  std::string id;
  int process = 0;
  bool line_buffered = false;           // Output goes to a terminal.
  std::vector<int> host_index = {};     // By process.
  std::vector<std::string> hosts = {};  // By host index.
  std::vector<job_part> parts = {};     // The programs of the job; empty for one program.

  std::string encoded() const;
  static job_description decoded(std::string_view bytes);
};

}  // namespace weft
