// Every limit of the runtime has a name, and the name is here. An error that reports a limit prints
// its value from this file.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// What the core transfers at once; the size of the smallest chunk of a loop over data.
inline constexpr std::size_t cache_line = 64;

// The prefetcher fetches lines in pairs, so data of two writers is kept this far apart: with 64
// bytes a hop between workers took 485 ns instead of 346.
inline constexpr std::size_t padding_bytes = 128;

inline constexpr int ranks_max = 1 << 20;
inline constexpr int workers_max = 1024;
// As the kernel can number them in an affinity mask.
inline constexpr int cpu_number_max = 8191;
inline constexpr int processes_max = 1 << 16;
inline constexpr int tag_max = 0x7fffffff;

// A smaller stack does not hold one printf of a double; a larger one is a mistyped unit.
inline constexpr std::size_t stack_bytes_min = 16 * 1024;
inline constexpr std::size_t stack_bytes_max = std::size_t{16} << 30;

// The largest stack of a rank that runs a main() where the kernel promises no more memory than there is (overcommit 2).
inline constexpr std::size_t program_stack_bytes_max = std::size_t{64} << 20;

// How often the end of a rank goes on after one of its handlers of atexit() has called exit().
inline constexpr int finisher_attempts_max = 64;
// Static TLS that a host of images gets beside what its copies need.
inline constexpr std::size_t static_tls_spare_bytes = 16 * 1024;

// Of the ring between two workers; its records may be a quarter of it, less their headers.
inline constexpr std::size_t mailbox_bytes = 64 * 1024;
inline constexpr std::size_t eager_bytes_max = mailbox_bytes / 4 - 128;

// Between processes a message is copied once more when it goes whole, but not told of, read and told
// of again: so many times as long as the limit for ranks that share memory, it still goes whole.
inline constexpr std::size_t remote_eager_factor = 8;

// What processes give each other in a collective: parts from here on go to where they belong, each in
// a message of its own. And of a reduction: from so many bytes for each process on, each combines a
// share for all, instead of all for itself.
inline constexpr std::size_t landing_bytes_min = 4 * 1024;
inline constexpr std::size_t shared_out_bytes_min = 4 * 1024;

// Of the ring from one endpoint to another through shared memory. Three eighths of it are the longest
// message: more than the core's eager_bytes. Touched only when used.
inline constexpr std::size_t shm_ring_bytes = 256 * 1024;
inline constexpr std::size_t shm_ring_bytes_min = 4 * 1024;
inline constexpr std::size_t shm_ring_bytes_max = std::size_t{16} << 20;
// Endpoints of one node, that is processes times devices.
inline constexpr std::size_t shm_endpoints_max = 4096;
// Rings that are looked at in every poll even when they have been silent for long.
inline constexpr std::size_t shm_rings_watched_min = 8;
// Puts up to here go through the ring: the kernel's copy takes 0.8 us before its first byte.
inline constexpr std::size_t shm_put_message_bytes_max = 1024;
// How often the life of the peers is looked at: a death is told within a second.
inline constexpr std::int64_t shm_death_look_ns = 200'000'000;

// Unexpected bytes that may wait at a rank before senders keep their data until they are received.
inline constexpr std::size_t unexpected_bytes_max = std::size_t{16} << 20;

// From this size on a message is copied by a loop whose chunks the sender and idle ranks may take.
inline constexpr std::size_t shared_copy_bytes_min = 32 * 1024;

// Loops of one worker that thieves can find at once; further ones run without thieves.
inline constexpr std::size_t open_loops_max = 8;

// Of one worker in one pass: conditions of suspended fibers looked at, rings polled while fibers
// are ready, records of one ring delivered.
inline constexpr std::size_t looks_max = 16;
inline constexpr std::size_t rings_polled_max = 8;
inline constexpr int records_delivered_max = 64;

// Ranks that a deadlock report lists before it only counts the rest.
inline constexpr std::size_t ranks_listed_max = 64;

// Calls of a waiting rank that are looked at, and of those that a report shows; different stacks
// that one report shows; pieces of "0-4, 7" of ranks that are named.
inline constexpr std::size_t calls_captured_max = 64;
inline constexpr std::size_t calls_shown_max = 12;
inline constexpr std::size_t stacks_shown_max = 24;
inline constexpr std::size_t rank_ranges_shown_max = 12;

// Different findings of a checked job that are told; bytes in a row of one layout that are compared.
inline constexpr std::size_t findings_max = 100;
inline constexpr std::size_t checked_pieces_max = 1 << 16;
// How often the datatype of messages between two ranks with one tag may change before a checked job
// compares no more of them.
inline constexpr std::size_t noted_datatypes_max = 1 << 16;

// Of a text that a user wrote, in an error; of a map of ranks, one million of which fit easily.
inline constexpr std::size_t printable_bytes_max = 200;
inline constexpr std::size_t map_file_bytes_max = std::size_t{64} << 20;

// Of one message between weftrun and a process: a value of the key-value store with its key.
inline constexpr std::size_t frame_bytes_max = std::size_t{64} << 20;

// What weftrun reads of a process's output at once; a line longer than the second passes in pieces.
inline constexpr std::size_t output_read_bytes = std::size_t{256} << 10;
inline constexpr std::size_t output_line_bytes_max = std::size_t{1} << 20;
// Files of ranks' output that weftrun keeps open.
inline constexpr std::size_t rank_files_max = 200;
inline constexpr std::size_t input_piece_bytes = std::size_t{64} << 10;
// Of all processes of a remote host, on their way to weftrun.
inline constexpr std::size_t output_window_bytes = std::size_t{8} << 20;

// Between asking the processes of a job to end and killing them.
inline constexpr double end_grace_s = 0.5;
// After their end, for output that something else keeps open.
inline constexpr double output_grace_s = 2;
// Once its job is to stop, a process has this long in which none of its ranks ends; so do the others when one has left.
inline constexpr double stop_grace_s = 2;
// The same where nothing runs any more that could let one end (diagnosis/stall_detection.hpp).
inline constexpr double stall_grace_s = 0.2;
// After its timeout a job is given this long to report and end by itself.
inline constexpr double timeout_grace_s = 3;
// Until another host has answered at all; until one that says nothing any more is given up.
inline constexpr double host_start_s = 60;
inline constexpr double host_silence_s = 15;

// How long a process waits for an answer of its launcher, and to be ended after it asked for it.
inline constexpr int bootstrap_wait_s = 60;
inline constexpr int abort_wait_s = 10;

// How long after a failed read from another process its death is known at the latest.
inline constexpr std::uint64_t death_known_ns = 2'000'000'000;

// Of the text of a failed collective, this much travels to other processes.
inline constexpr std::size_t failure_bytes_max = 1024;
// Questions about broadcasts of communicators that this process has not made yet, failures of such
// communicators, and those in which others have met.
inline constexpr std::size_t early_questions_max = 1024;

// Jobs of one process that take the report signal.
inline constexpr std::size_t jobs_max = 64;

// Of an endpoint of libfabric: longest message, envelope and header with it (64 KiB and what the core
// puts before them); up to which size a message is copied into a packet, after which libfabric
// sends it from where it is; packets for small messages, for long ones that nobody keeps, puts and
// gets under way, buffers for messages to come.
inline constexpr std::size_t ofi_message_bytes = 66 * 1024;
inline constexpr std::size_t ofi_rxm_message_bytes = 15 * 1024;
inline constexpr std::size_t ofi_packet_bytes = 4096;
inline constexpr std::size_t ofi_packets_max = 256;
inline constexpr std::size_t ofi_large_packets_max = 8;
inline constexpr std::size_t ofi_remote_operations_max = 128;
inline constexpr std::size_t ofi_receive_buffers = 32;
// As many there may be when strangers have connected, each of whom may keep one: 66 MiB.
inline constexpr std::size_t ofi_receive_buffers_max = 1024;

// A silent peer is looked after this often, some of them at a time; how many times in a row its
// provider must take nothing before weft looks itself whether anybody is there.
inline constexpr std::int64_t ofi_watch_ns = 200'000'000;
inline constexpr std::size_t ofi_watched_max = 64;
inline constexpr int ofi_refusals_max = 2;
// The longest of the first waits, after which libfabric should show what rings.
inline constexpr int ofi_first_wait_ms_max = 64;
// So many looks in a row, 5 s, a provider may take no receive buffer and say that it will later.
inline constexpr int ofi_deaf_looks_max = 25;
// So many polls find nothing before the end of a peer is told: by then its last messages are out of
// the sockets.
inline constexpr int ofi_empty_polls_min = 64;
// Every so many looks at a silent peer its connections are looked at. A host does not answer when
// its kernel has been sent the same so many times, or so many attempts to connect: after 6 to 7 s.
inline constexpr std::uint8_t ofi_silent_looks = 4;
inline constexpr int ofi_repeats_unanswered_max = 5;
inline constexpr int ofi_connects_unanswered_max = 3;

// Without a descriptor to sleep on, whoever sleeps looks this often.
inline constexpr std::int64_t ofi_blind_sleep_ns = 1'000'000;

// An endpoint that leaves waits at most this long for its last messages to be taken.
inline constexpr std::uint64_t farewell_ns = 1'000'000'000;

inline constexpr double seconds_max = 1e9;
inline constexpr int spin_us_max = 1'000'000;

// A loop is worth a system call that wakes a worker when its chunks take longer than this. A worker notes how
// long those of so many bodies took.
inline constexpr double long_loop_ns = 10'000;
inline constexpr std::size_t timed_bodies_max = 64;

// Of the communication core. Handlers that peers may name, matching engines and devices of a runtime;
// buffers of one message.
inline constexpr std::size_t handlers_max = 1024;
inline constexpr std::size_t engines_max = 64;
inline constexpr int devices_max = 1024;
inline constexpr std::size_t message_parts_max = 16;

// What a program may ask for: packets of a device and their bytes, registrations that it keeps, events
// of a completion queue. More is a mistyped number.
inline constexpr std::size_t packets_max = std::size_t{1} << 24;
inline constexpr std::size_t packet_bytes_min = 64;
inline constexpr std::size_t packet_bytes_max = std::size_t{1} << 30;
inline constexpr std::size_t registrations_max = std::size_t{1} << 24;
inline constexpr std::size_t queue_events_max = std::size_t{1} << 32;

// Operations that one device may have under way for its peers, beyond those its owner posted.
inline constexpr std::size_t operations_max = std::size_t{1} << 20;

// Moved by one call of a transport's put or get.
inline constexpr std::size_t piece_bytes_max = std::size_t{1} << 30;

// Through a transport that copies messages whole, a send that its receive must copy once more is
// quicker as one copy by get from here on.
inline constexpr std::size_t twice_copied_bytes_max = 32 * 1024 - 128;

// Messages that a device takes from one transport in one progress().
inline constexpr int messages_delivered_max = 64;

// A network beside a ring is polled at every call while it is busy, and after this many calls once
// it has been idle for long.
inline constexpr unsigned network_skips_max = 16;

// Messages that a device keeps because its caller forbade retry, before it makes that caller wait.
inline constexpr std::size_t backlog_messages_max = 1024;

// How long the progress worker sleeps between two looks: at least; at most while some worker is awake; at
// most while all are parked.
inline constexpr long progress_sleep_ns_min = 20'000;
inline constexpr long progress_sleep_ns_max = 4'000'000;
inline constexpr long progress_sleep_ns_max_parked = 20'000'000;
// How often it looks at one device in a row while something happens there.
inline constexpr int progress_rounds_max = 256;

// Messages that came while a device was pumped and wait for its owner, before the transports hold
// theirs back; each looks once more for its batch.
inline constexpr std::size_t deferred_messages_max = 1024;

// Freed buffers of long messages that a device keeps for the next ones.
inline constexpr std::size_t spare_buffers_max = 8;

// A thread that waits pauses 2^n times between looks, at first once, then twice as often each time,
// up to 2^max; then it yields.
inline constexpr unsigned spin_rounds_max = 9;
// Likewise one that wants a device at which another thread is at work. After so many looks it takes
// the device all the same: some thousands of operations later, for which its lines move between cores
// but once.
inline constexpr unsigned lock_pause_rounds_min = 2;
inline constexpr unsigned lock_pause_rounds_max = 9;
inline constexpr unsigned lock_looks_max = 14;
inline constexpr int lock_attempts_max = 32;

// Of one thread, 24 bytes each; older ones are overwritten and their number is reported.
inline constexpr std::size_t trace_events_max = std::size_t{1} << 20;
// The same, of those that --breakdown keeps beside the accounts.
inline constexpr std::size_t breakdown_events_max = std::size_t{1} << 17;

}  // namespace weft
