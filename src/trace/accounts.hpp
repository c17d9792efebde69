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
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace weft::accounts {

inline constexpr std::uint64_t file_magic = 0x3330'6b61'6572'6277;  // "wbreak03"
inline constexpr int objects_max = 8;      // Files of a program that have call sites.
inline constexpr int sites_max = 128;      // Call sites of a rank; the last takes those beyond.
inline constexpr int wait_rows_max = 192;  // Kinds and causes of a rank's waits; likewise.
inline constexpr int partners_max = 256;   // Ranks that a rank sends to or waits for; likewise.
inline constexpr int regions_max = 24;     // Regions of a rank; likewise.
inline constexpr int iterations_max =
    256;  // Times that a rank is in one; of those beyond only the region tells.
inline constexpr int size_classes = 40;  // Messages of 0, 1, 2 to 3, 4 to 7, ... bytes.
inline constexpr int no_rank = -1;

// What a rank does at a moment.
enum class share : std::uint8_t {
  computing,  // Outside of weft, its own chunks too.
  in_calls,   // In weft, but for what follows.
  copying,    // Of long messages.
  stealing,   // Chunks of other ranks' loops, while it waits.
  tasks,      // Tasks of whichever rank, while it waits or another flow of its worker runs.
  waiting,    // For others, or for what they send.
  queued,     // It could run, and another rank of its worker does.
  asleep,     // In sleep(), which the program asked for.
};
inline constexpr int share_count = 8;

// Why a rank waits, by the names that the field has given them.
enum class wait_state : std::uint8_t {
  late_sender,     // The message was sent after the receiver began to wait.
  late_receiver,   // The receive began after the sender of a long message began to wait.
  barrier,         // Until the last rank came to a barrier.
  n_by_n,          // Likewise, to a collective of which all need what all have.
  early_reduce,    // The root, until the last rank came.
  late_broadcast,  // Until the root came.
  transfer,        // What the message or collective took when all were there.
  chunks,          // For thieves that still work at chunks of the rank's loop.
  late_signal,     // Until another rank began the call that wrote the word.
  lock,            // Until the holder began to give it up.
  late_task,       // Until the task had ended, or the promise was kept.
  unknown,         // No stamp told.
};
inline constexpr int wait_state_count = 12;

// How a rank depends on the others of a collective.
enum class relation : std::uint8_t { all, from_root, to_root };

struct site {
  std::int32_t object = -1;  // Which file; -1: not known.
  std::uint32_t line = 0;    // Filled in by readers.
  std::uint64_t offset = 0;  // In it, from where it was loaded.
  char call[24] = {};        // The first public call that was seen there.
  char place[96] = {};  // "function at file:line"; filled in by readers, where there is an object.
  std::uint64_t calls = 0;
  std::uint64_t computing = 0;  // Ticks of computation that ended in a call here.
  std::uint64_t in_calls = 0;   // Ticks in calls here, waits included.
};

struct wait_row {
  wait_state state = wait_state::unknown;
  bool used = false;
  std::int16_t at = 0;           // Site of the one who waits.
  std::int16_t cause_site = -1;  // In the account of the cause; -1: not known.
  std::int32_t cause = no_rank;  // Which rank came late.
  std::uint64_t count = 0;
  std::uint64_t ticks = 0;
  std::uint64_t longest = 0;
};

struct partner {
  std::int32_t rank = no_rank;
  std::uint32_t unused = 0;
  std::uint64_t messages = 0;  // Sent to it.
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
  std::uint64_t critical = 0;  // By how much the longest chain of computation grew.
  std::uint64_t asleep = 0;    // Of `computing`.
};
struct region_row {
  char name[48] = {};
  std::uint64_t entries = 0;
  region_times times;
};
struct iteration_row {
  std::int32_t region = -1;  // Which of its rows.
  std::uint32_t number = 0;  // From 0.
  region_times times;
};

enum class life : std::uint32_t { none, running, ended };

struct account {
  life state = life::none;
  std::int32_t rank = 0;
  std::int32_t process = 0;
  std::int32_t worker = 0;  // Of its process.
  std::uint64_t begun = 0;  // Ticks.
  std::uint64_t ended = 0;
  std::uint64_t mark = 0;  // When `current` began.
  share current = share::computing;
  std::int32_t current_site = -1;  // Of the call that it is in.
  std::uint64_t times[share_count] = {};
  // The length of the longest chain of computation that leads here, over messages that take no time.
  std::uint64_t critical = 0;
  std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0;
  std::uint64_t unexpected = 0;  // Messages that came before their receive.
  std::uint64_t rendezvous = 0;  // Messages that waited at the sender for their receive.
  std::uint64_t collectives = 0;
  std::uint64_t chunks_taken = 0;  // Of other ranks.
  std::uint64_t causes_lost = 0;   // Waits whose stamp had been forgotten.
  std::uint64_t beyond = 0;        // Sites, waits and partners that found no row of their own.
  std::array<size_class, size_classes> sizes;
  char objects[objects_max][256] = {};
  std::array<site, sites_max> sites;
  std::array<wait_row, wait_rows_max> waits;
  std::array<partner, partners_max> partners;
  std::array<region_row, regions_max> regions;
  std::array<iteration_row, iterations_max> iterations;
  // By the receivers of its long messages. Relaxed: the end of the send orders them.
  std::atomic<std::uint64_t> taken_at{0};
  std::atomic<std::uint64_t> taken_by{0};  // Rank and site.
};

// What a causal experiment delays everything else for (experiment.hpp), as the program that asks for it wants: written
// before the job begins.
struct causal_experiment {
  static constexpr int places_max = 48;
  enum class part : std::int32_t { none, computation, calls, region };
  part of = part::none;
  std::int32_t percent =
      0;  // By so much that part seems to take less; 0: only its visits are counted.
  std::int32_t places = 0;
  std::int32_t unused = 0;
  char region[48] = {};
  struct place {
    std::uint64_t offset = 0;  // As in a site.
    char call[24] = {};
  };
  std::array<place, places_max> at;
  // Relaxed, both: sums of ticks and of visits.
  std::atomic<std::uint64_t> owed{0};
  std::atomic<std::uint64_t> visits{0};
};

struct file_header {
  std::uint64_t magic = 0;
  std::uint32_t account_bytes = 0;
  std::int32_t ranks = 0;
  std::int32_t processes = 0;
  std::int32_t workers = 0;  // Of the first process.
  double ns_per_tick = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;  // Set by whoever waited for the job.
  std::int32_t exit_status = 0;
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
inline constexpr std::size_t header_bytes = 4096;
inline constexpr const char* file_name = "weft-breakdown";  // Of the memory.
static_assert(sizeof(file_header) <= header_bytes);

// What the file has, without and with the tables of stamps, which nobody needs when the job is over.
[[nodiscard]] constexpr std::size_t bytes_of_accounts(std::size_t ranks) noexcept {
  return header_bytes + ranks * sizeof(account);
}

// Names a message on both sides: of all that are sent to one rank.
struct message_name {
  std::uint32_t context;
  std::int32_t source;  // In the communicator.
  std::int32_t tag;
  std::int32_t to;  // In the world.
};

struct job_shape {
  std::uint64_t job = 0;  // Not 0; the same in all processes of the job, and in no other job.
  int ranks = 1;
  int processes = 1;
  int workers = 1;  // Of this process.
  bool has_other_hosts = false;
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
// For the next begin_call() or wait of this thread: where the program called.
extern constinit thread_local const void* noted_address;
inline void note_return_address(const void* address) noexcept {
  noted_address = address;
}

[[nodiscard]] bool are_on() noexcept;

// These two, and what follows of waits and collectives, are events of the timeline as well: one look at the clock is for
// both.
void sent(int rank, int to_rank, const message_name& name, std::size_t bytes);
// `counter`: where the receive counts, if somebody waits for it.
void received(int rank, const message_name& name, std::size_t bytes, const void* counter);
// A message came before its receive: what a probe waits for.
void came_unexpected(int rank, const message_name& name);
void kept_for_rendezvous(int rank);
// A receive has matched a long message, which the sender has kept so far.
void took_rts(int rank, const message_name& name);

// `kind`: to receive or to send; `peer` is -1 when it is not known, `counter` what the messages count at.
void begin_wait(int rank, trace_kind kind, int peer, const char* call, const void* counter);
void end_wait(int rank, trace_kind kind);

// What one rank does that another may wait for, under a key that both can make. Of several under one key the last counts.
// A word of a rank's memory, of all that others may write; a queue of a rank, likewise; an object of this process.
[[nodiscard]] std::uint64_t key_of_word(int rank, std::uint64_t place) noexcept;
[[nodiscard]] std::uint64_t key_of_queue(int rank) noexcept;
[[nodiscard]] std::uint64_t key_of_object(const void* object) noexcept;
void leave_cause(int rank, std::uint64_t key);
// The same of the rank whose code the calling thread runs, or whose wait gave its worker the time. `what` and the place
// say what is shown for it, as a call; null: not known. They stay.
void leave_cause_of_task(std::uint64_t key, const char* what = nullptr, const char* file = nullptr,
                         std::uint32_t line = 0, const char* function = nullptr);
// Data that `rank` puts into the memory or a queue of another, in the counts of messages.
void put(int rank, int to_rank, std::size_t bytes);
// A wait that something under one of these keys ends; none: only what moves data takes time. Event files have its cause.
void begin_caused_wait(int rank, trace_kind kind, const char* call);
void end_caused_wait(int rank, trace_kind kind, wait_state state,
                     std::span<const std::uint64_t> keys);
// While the owner of a loop waits for thieves.
void begin_chunks_wait(int rank, std::uint64_t now);
void end_chunks_wait(int rank, std::uint64_t now);

struct meeting_name {
  std::int32_t first;  // The communicator's first rank, in the world.
  std::uint32_t context;
  std::uint64_t turn;  // Of the collectives of the communicator.
  std::int32_t size;
  relation how;
  bool is_root;
  bool is_barrier;
  const char* call;
  bool spans_processes = false;  // Its communicator.
};
void begin_collective(int rank, const meeting_name& name, std::size_t bytes);
void end_collective(int rank);

// Regions that the program names (weft/region.h); they nest.
void begin_region(int rank, const char* name);
void end_region(int rank);

// An event of the timeline that concerns accounts as well.
void note_event(trace_phase phase, trace_kind kind, int rank, std::uint64_t now) noexcept;

}  // namespace weft::accounts
