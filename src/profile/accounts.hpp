// Accounts: where the time of each rank goes, added up while the job runs, in a file that outlives it.
//
// Each moment of a rank belongs to one share, so that the shares are its whole time. A wait is split when
// it ends: until its cause came (who, at which call site), and what the message or collective itself took.
//
// The file is memory that all processes of a host map: each rank's account is written by its home worker
// alone, and whoever reads it when a process has died finds what it had written. The sender of a message
// leaves a stamp, which its receiver looks up; so does the last rank that comes to a collective. Stamps
// are kept in a table that forgets: a cause may stay unknown, and is then counted as such.
//
// Everything here is called while tracing() only, by the home worker of the rank concerned.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "profile/wait_states.hpp"
#include "trace/names.hpp"
#include "trace/trace.hpp"

namespace weft::profile {

inline constexpr std::uint64_t file_magic = 0x3630'6b61'6572'6277;  // "wbreak06"
inline constexpr int callers_max = 512;    // Calls of a rank that lead to call sites.
inline constexpr int objects_max = 16;     // Files of a program that have call sites.
inline constexpr int sites_max = 128;      // Call sites of a rank; the last takes those beyond.
inline constexpr int wait_rows_max = 192;  // Kinds and causes of a rank's waits; likewise.
inline constexpr int partners_max = 256;   // Ranks that a rank sends to or waits for; likewise.
inline constexpr int regions_max = 24;     // Regions of a rank; likewise.
inline constexpr int iterations_max =
    256;  // Times that a rank is in one; of those beyond only the region tells.
inline constexpr int size_classes = 40;             // Messages of 0, 1, 2 to 3, 4 to 7, ... bytes.
inline constexpr std::size_t call_name_bytes = 64;  // Room for the name of any public call.
inline constexpr int no_rank = -1;

// What a rank does at a moment.
enum class share : std::uint8_t {
  computing,  // It runs code of the program, chunks of its own loops too.
  in_calls,   // It is in weft, and does nothing that follows.
  copying,    // It copies long messages.
  stealing,   // It runs chunks of other ranks' loops, while it waits.
  tasks,    // Its worker runs tasks of any rank, while it waits or another flow of the worker runs.
  waiting,  // It waits for others, or for what they send.
  queued,   // It could run, and another rank of its worker does.
  asleep,   // The program asked for it by sleep().
};
inline constexpr int share_count = 8;

// How many values there are, and how they lie.
struct spread {
  std::uint64_t count = 0, sum = 0, least = 0, most = 0;
  void add(std::uint64_t value) noexcept {
    least = count == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++count;
  }
  void add(const spread& other) noexcept {
    if (other.count == 0) return;
    least = count == 0 ? other.least : std::min(least, other.least);
    most = std::max(most, other.most);
    sum += other.sum;
    count += other.count;
  }
};

struct site {
  std::int32_t object = -1;  // The number of the file that has the code; -1: not known.
  std::int32_t path = -1;    // The row of the call itself in the rank's callers; -1: not known.
  std::uint64_t offset = 0;  // The distance from where the file was loaded.
  char call[call_name_bytes] = {};  // The first public call that was seen there.
  char place[96] = {};  // "function at file:line"; readers fill it in, where there is an object.
  std::uint64_t calls = 0;
  std::uint64_t computing = 0;  // Ticks of computation that ended in a call here.
  spread in_calls;              // Ticks in each call here, waits included.
  spread sent;                  // Bytes that each message and collective from here takes along.
};

// A call of the program that leads to a call site, or is one. Only --call-paths keeps these.
struct caller {
  std::int32_t object = -1;
  std::int32_t caller = -1;  // The row of the call that led there, of a lower number; -1: none.
  std::uint64_t offset = 0;
  char place[176] =
      {};  // The same as of a site, with the functions that were compiled into others.
};

struct wait_row {
  wait_state state = wait_state::unknown;
  bool used = false;
  std::int16_t at = 0;           // The site of the rank that waits.
  std::int16_t cause_site = -1;  // The site in the account of the cause; -1: not known.
  std::int32_t cause = no_rank;  // The rank that came late.
  std::uint64_t count = 0;
  std::uint64_t ticks = 0;
  std::uint64_t longest = 0;
};

struct partner {
  std::int32_t rank = no_rank;
  std::uint32_t unused = 0;
  std::uint64_t messages = 0;  // The number that was sent to it.
  std::uint64_t bytes = 0;
  std::uint64_t waiting = 0;  // Ticks waited for it.
};

struct size_class {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// What passed while a rank was in a region: ticks, those of regions within it included.
struct region_times {
  std::uint64_t elapsed = 0;
  std::uint64_t computing = 0;
  std::uint64_t stealing = 0;
  std::uint64_t waiting = 0;
  std::uint64_t critical = 0;  // The growth of the longest chain of computation.
  std::uint64_t asleep = 0;    // A part of `computing`.
};
struct region_row {
  char name[48] = {};
  std::uint64_t entries = 0;
  region_times times;
};
struct iteration_row {
  std::int32_t region = -1;  // The row of the region.
  std::uint32_t number = 0;  // The first is 0.
  region_times times;
};

enum class life : std::uint32_t { none, running, ended };

struct account {
  life state = life::none;
  std::int32_t rank = 0;
  std::int32_t process = 0;
  std::int32_t worker = 0;  // The number in its process.
  // How many threads run the workers of its process, where workers move between them; 0: each has its own.
  std::int32_t threads = 0;
  std::uint64_t begun = 0;  // Ticks.
  std::uint64_t ended = 0;
  std::uint64_t mark = 0;  // When `current` began.
  share current = share::computing;
  std::int32_t current_site = -1;  // The site of the call that is under way; -1: none is.
  std::uint64_t times[share_count] = {};
  // The length of the longest chain of computation that leads here, over messages that take no time.
  std::uint64_t critical = 0;
  std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0;
  std::uint64_t unexpected = 0;  // Messages that came before their receive.
  std::uint64_t rendezvous = 0;  // Messages that waited at the sender for their receive.
  std::uint64_t collectives = 0;
  std::uint64_t chunks_taken = 0;  // Chunks of other ranks.
  std::uint64_t causes_lost = 0;   // Waits whose stamp had been forgotten.
  // Ticks in which it could run, as far as is known, while a core of its process was free.
  std::uint64_t could_run_elsewhere = 0;
  std::uint64_t beyond = 0;  // Sites, waits and partners that found no row of their own.
  std::array<size_class, size_classes> sizes;
  char objects[objects_max][256] = {};
  std::array<site, sites_max> sites;
  std::array<wait_row, wait_rows_max> waits;
  std::array<partner, partners_max> partners;
  std::array<region_row, regions_max> regions;
  std::array<iteration_row, iterations_max> iterations;
  // The receivers of its long messages write these. Relaxed: the end of the send orders them.
  std::atomic<std::uint64_t> taken_at{0};
  std::atomic<std::uint64_t> taken_by{0};  // Rank and site.
};

// What a causal experiment delays everything else for (experiment.hpp). The program that asks for it writes this before the
// job begins.
struct causal_experiment {
  static constexpr int part_sites_max = 48;
  enum class part : std::int32_t { none, computation, calls, region };
  part of = part::none;
  // That part seems to take so much less; 0: only its visits are counted.
  std::int32_t percent = 0;
  std::int32_t site_count = 0;
  std::int32_t unused = 0;
  char region[48] = {};
  struct site_of_part {
    std::uint64_t offset = 0;  // The same as in a site.
    char call[call_name_bytes] = {};
  };
  std::array<site_of_part, part_sites_max> at;
  // Relaxed, both: sums of ticks and of visits.
  std::atomic<std::uint64_t> owed{0};
  std::atomic<std::uint64_t> visits{0};
};

struct file_header {
  std::uint64_t magic = 0;
  std::uint32_t account_bytes = 0;
  std::int32_t ranks = 0;
  std::int32_t processes = 0;
  std::int32_t workers = 0;  // The number that the first process has.
  double ns_per_tick = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;  // The process that waited for the job sets it.
  std::int32_t exit_status = 0;
  std::uint32_t checksum = 0;    // The sum of the whole file, in which this field is 0.
  std::int32_t has_callers = 0;  // Whether those of all ranks stand behind the accounts.
  char host[64] = {};
  char processor[96] = {};
  char program[256] = {};
  char settings[512] = {};
  // The job whose accounts they are; 0: none yet. Relaxed: the winner of an exchange fills in the fields above
  // before its ranks begin.
  std::atomic<std::uint64_t> job{0};
  std::atomic<std::uint64_t> stolen_by_nobody{0};  // Ticks of chunks on workers that ran no rank.
  causal_experiment experiment;
};
inline constexpr std::size_t header_bytes = 8192;
inline constexpr const char* file_name = "weft-breakdown";  // The memory has this name.
static_assert(sizeof(file_header) <= header_bytes);

// What the file has, without and with the tables of stamps, which nobody needs when the job is over.
[[nodiscard]] constexpr std::size_t bytes_of_accounts(std::size_t ranks,
                                                      bool has_callers) noexcept {
  return header_bytes +
         ranks * (sizeof(account) + (has_callers ? callers_max * sizeof(caller) : 0));
}

struct job_shape {
  std::uint64_t job = 0;  // The same in all processes of the job, and in no other job; never 0.
  int ranks = 1;
  int processes = 1;
  int workers = 1;  // The number that this process has.
  int threads = 0;  // As in the accounts.
  bool has_other_hosts = false;
  bool has_call_paths = false;
  std::string program;
  std::string settings;
};

// Maps the file and begins. Called while no worker runs, as is stop(); throws weft::error when the file
// cannot be mapped.
enum class beginning {
  begun,
  other_job,  // Another job has it already.
  elsewhere,  // It is not here: it is on another host.
};
[[nodiscard]] beginning start(const std::string& path, const job_shape& shape);
void stop() noexcept;

void begin_rank(int rank, int process, int worker);
void end_rank(int rank);

// A call of the program, with its return address.
void begin_call(int rank, const char* call, const void* return_address);
void end_call(int rank);
// The next begin_call() or wait of this thread takes it for where the program called.
extern constinit thread_local const void* noted_address;
inline void note_return_address(const void* address) noexcept {
  noted_address = address;
}

[[nodiscard]] bool are_on() noexcept;

// These two, and the waits and collectives that follow, are events of the timeline as well: one look at the clock serves
// both.
void sent(int rank, int to_rank, const message_name& name, std::size_t bytes);
// `receive` tells it from others that are under way; `counter` is what it counts at, if somebody waits for it.
void received(int rank, const message_name& name, std::size_t bytes, const void* receive,
              const void* counter);
// A message came before its receive; a probe waits for such a one.
void came_unexpected(int rank, const message_name& name);
// A probe has found, of the messages of this name, the next to be received. Event files alone have it.
void found(int rank, const message_name& name);
// The message that the rank has sent last is kept until its receive is there.
void kept_for_rendezvous(int rank);
// A receive has matched a long message, which the sender has kept so far.
void took_rts(int rank, const message_name& name, const void* receive);

// What counted_wait (counted_wait.hpp) calls. `kind` is to receive or to send; `peer` is -1 when it is not known; the messages
// count at `counter`.
void begin_wait(int rank, trace_kind kind, int peer, const char* call, const void* counter);
void end_wait(int rank, trace_kind kind);

// What one rank does that another may wait for has a key that both can make: of a word of a rank's memory, of a queue of a rank,
// of an object of this process. The last cause that was left under a key counts.
[[nodiscard]] std::uint64_t key_of_word(int rank, std::uint64_t word) noexcept;
[[nodiscard]] std::uint64_t key_of_queue(int rank) noexcept;
[[nodiscard]] std::uint64_t key_of_object(const void* object) noexcept;
void leave_cause(int rank, std::uint64_t key);
// Does so for the rank whose code the calling thread runs, or whose wait gave its worker the time. Reports show `what` and its
// source line as a call; null: not known. The texts stay.
void leave_cause_of_task(std::uint64_t key, const char* what = nullptr, const char* file = nullptr,
                         std::uint32_t line = 0, const char* function = nullptr);
// Counts data that `rank` puts into the memory or a queue of another as a message.
void put(int rank, int to_rank, std::size_t bytes);
// A wait that something under one of these keys ends; without keys nobody is late. Event files have its cause.
void begin_caused_wait(int rank, trace_kind kind, const char* call);
void end_caused_wait(int rank, trace_kind kind, wait_state state,
                     std::span<const std::uint64_t> keys);
// A task waits on a fiber of its own. No time of a rank passes; the rank that ran last on the worker has the wait in its account.
struct task_wait {
  const char* call = nullptr;
  std::uintptr_t address = 0;  // The place from which the program called.
  std::uint64_t begun = 0;
};
[[nodiscard]] task_wait begin_task_wait(const char* call, const void* return_address);
void end_task_wait(const task_wait& wait, std::uint64_t key);
// The owner of a loop waits for thieves in between.
void begin_chunks_wait(int rank, std::uint64_t now);
void end_chunks_wait(int rank, std::uint64_t now);

void begin_collective(int rank, const collective_name& name, std::size_t bytes);
void end_collective(int rank);

// Collectives that go on beside the rank's own code, each on a flow of its own. The call that is under way has started it.
void start_beside(int rank, const void* flow);
// The flow comes to a collective, and leaves it: what it waited for is the rank's cause, if the rank waits for the flow.
void begin_beside(int rank, const collective_name& name, std::size_t bytes, const void* flow);
void end_beside(int rank, const collective_name& name, const void* flow);
// The flow has ended, which counts at `counter` if somebody waits for it.
void ended_beside(int rank, const void* flow, const void* counter);

// The program asks again and again whether something has come: a row of such calls in vain is one wait, from the first of
// them, for what came last. `what` tells it from other things that the rank asks for. The call that asks is under way meanwhile.
void asked_in_vain(int rank, std::uint64_t what);
void asked_well(int rank, std::uint64_t what);

// Regions that the program names (weft/region.h); they nest.
void begin_region(int rank, const char* name);
void end_region(int rank);

}  // namespace weft::profile
