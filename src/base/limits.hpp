// Limits that users meet, or that several modules obey. An error that reports one prints its value from this file. A limit
// of one structure has its name beside that structure.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// The unit in which cores exchange memory; the size of the smallest chunk of a loop over data.
inline constexpr std::size_t cache_line = 64;

// The prefetcher fetches lines in pairs, so data of two writers is kept this far apart: with 64
// bytes a hop between workers took 485 ns instead of 346.
inline constexpr std::size_t padding_bytes = 128;

inline constexpr int ranks_max = 1 << 20;
inline constexpr int workers_max = 1024;
// The highest CPU number that the kernel takes in an affinity mask.
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
// Of descriptors of this number and above it is not known whose they are, nor whether they are of files.
inline constexpr int descriptors_known_max = 1 << 16;
// Static TLS that a process with copies of a program gets beyond what the copies need.
inline constexpr std::size_t static_tls_spare_bytes = 16 * 1024;

// The size of the ring between two workers. A record may take a quarter of it, less its header.
inline constexpr std::size_t mailbox_bytes = 64 * 1024;
inline constexpr std::size_t eager_bytes_max = mailbox_bytes / 4 - 128;

// Between processes the eager limit is this factor times the limit within a process: an eager message is copied once
// more than by rendezvous, but saves three messages (request, read, answer).
inline constexpr std::size_t remote_eager_factor = 8;

// Collectives between processes: from this size on a part goes into the receiver's buffer, in a message of its own.
// And from this many bytes for each process on, each process reduces a share for all; below, each reduces everything
// for itself.
inline constexpr std::size_t direct_part_bytes_min = 4 * 1024;
inline constexpr std::size_t shared_out_bytes_min = 4 * 1024;

// The size of the ring from one endpoint to another through shared memory. The longest message takes three eighths of
// it: more than the core's eager_bytes. Its pages exist only once they are used.
inline constexpr std::size_t shm_ring_bytes = 256 * 1024;
inline constexpr std::size_t shm_ring_bytes_min = 4 * 1024;
inline constexpr std::size_t shm_ring_bytes_max = std::size_t{16} << 20;
// The endpoints of one node: processes times devices.
inline constexpr std::size_t shm_endpoints_max = 4096;
// This many rings are looked at in every poll even when they have been silent for long.
inline constexpr std::size_t shm_rings_watched_min = 8;
// Puts up to this size go through the ring: a copy by the kernel takes 0.8 us before its first byte.
inline constexpr std::size_t shm_put_message_bytes_max = 1024;
// How often an endpoint looks whether its peers live: a death is reported within a second.
inline constexpr std::int64_t shm_death_look_ns = 200'000'000;

// Unexpected bytes that may wait at a rank before senders keep their data until they are received.
inline constexpr std::size_t unexpected_bytes_max = std::size_t{16} << 20;

// From this size on a message is copied by a loop whose chunks the sender and idle ranks may take.
inline constexpr std::size_t shared_copy_bytes_min = 32 * 1024;

// Up to this size a sender packs short blocks that lie apart before it offers them to another core. Longer ones do not stay in
// its cache.
inline constexpr std::size_t packed_bytes_max = 256 * 1024;

// The loops of one worker that thieves can find at the same time; further loops run without thieves.
inline constexpr std::size_t open_loops_max = 8;

// What one worker does in one pass at most: conditions of suspended fibers that it looks at, rings that it polls while
// fibers are ready, records of one ring that it delivers.
inline constexpr std::size_t looks_max = 16;
inline constexpr std::size_t rings_polled_max = 8;
inline constexpr int records_delivered_max = 64;

// Exceptions of futures that were dropped unasked, of a process, that are told by a line each.
inline constexpr int dropped_failures_told_max = 16;

// Ranks that a deadlock report lists before it only counts the rest.
inline constexpr std::size_t ranks_listed_max = 64;

// In reports: calls of a stack that are captured, and that are shown; different stacks that one report shows; ranges
// in a list of ranks such as "0-4, 7".
inline constexpr std::size_t calls_captured_max = 64;
inline constexpr std::size_t calls_shown_max = 12;
inline constexpr std::size_t stacks_shown_max = 24;
inline constexpr std::size_t rank_ranges_shown_max = 12;

// In a checked job: different findings that are told; contiguous pieces of one layout that are compared.
inline constexpr std::size_t findings_max = 100;
inline constexpr std::size_t checked_pieces_max = 1 << 16;
// In a checked job: how long a wait is held that need not be, and how many sends of a rank are let go before none is held
// any more.
inline constexpr std::uint64_t held_wait_ns_max = 1'000'000'000;
inline constexpr int held_sends_let_go_max = 8;
// How often the datatype of messages between two ranks with one tag may change before a checked job
// compares no more of them.
inline constexpr std::size_t noted_datatypes_max = 1 << 16;

// The bytes of a user's text that an error shows; the size of a file with a map of ranks, which holds a million easily.
inline constexpr std::size_t printable_bytes_max = 200;
inline constexpr std::size_t map_file_bytes_max = std::size_t{64} << 20;

// The size of one frame between weftrun and a process: a value of the key-value store with its key.
inline constexpr std::size_t frame_bytes_max = std::size_t{64} << 20;

// What weftrun reads of a process's output at once; a line longer than the second passes in pieces.
inline constexpr std::size_t output_read_bytes = std::size_t{256} << 10;
inline constexpr std::size_t output_line_bytes_max = std::size_t{1} << 20;
// Files of ranks' output that weftrun keeps open.
inline constexpr std::size_t rank_files_max = 200;
inline constexpr std::size_t input_piece_bytes = std::size_t{64} << 10;
// Output of all processes of a remote host that is on its way to weftrun.
inline constexpr std::size_t output_window_bytes = std::size_t{8} << 20;

// The time between asking the processes of a job to end and killing them.
inline constexpr double end_grace_s = 0.5;
// The time after their end for output that something else keeps open.
inline constexpr double output_grace_s = 2;
// The longest time in which no rank of a stopping process ends, before the process is ended; also the time that
// processes have to leave after another one has left.
inline constexpr double stop_grace_s = 2;
// As stop_grace_s, when nothing runs that could let a rank end (diagnosis/stall_detection.hpp).
inline constexpr double stall_grace_s = 0.2;
// After its timeout a job is given this long to report and end by itself.
inline constexpr double timeout_grace_s = 3;
// How long weftrun waits for the first answer of another host; after how long a silence it gives the host up.
inline constexpr double host_start_s = 60;
inline constexpr double host_silence_s = 15;

// How long a process waits for an answer of its launcher, and, after it has asked to be aborted, for its end.
inline constexpr int bootstrap_wait_s = 60;
inline constexpr int abort_wait_s = 10;

// How long after a failed read from another process its death is known at the latest.
inline constexpr std::uint64_t death_known_ns = 2'000'000'000;

// The bytes of a failed collective's text that travel to other processes.
inline constexpr std::size_t failure_bytes_max = 1024;
// For communicators that this process has not made yet: questions about broadcasts, failures, and meetings that are
// kept.
inline constexpr std::size_t early_questions_max = 1024;

// Jobs of one process that take the report signal.
inline constexpr std::size_t jobs_max = 64;

// An endpoint of libfabric: the longest message with envelope and header (64 KiB and what the core puts before them),
// and that over rxm; the longest message that is copied into a packet, longer ones are sent from where they are;
// packets for small messages, and for long ones whose data the caller may change; puts and gets under way; receive
// buffers.
inline constexpr std::size_t ofi_message_bytes = 66 * 1024;
inline constexpr std::size_t ofi_rxm_message_bytes = 15 * 1024;
inline constexpr std::size_t ofi_packet_bytes = 4096;
inline constexpr std::size_t ofi_packets_max = 256;
inline constexpr std::size_t ofi_large_packets_max = 8;
inline constexpr std::size_t ofi_remote_operations_max = 128;
inline constexpr std::size_t ofi_receive_buffers = 32;
// Receive buffers when strangers have connected, each of which may keep one: 66 MiB.
inline constexpr std::size_t ofi_receive_buffers_max = 1024;

// How often an endpoint looks after silent peers, and at how many at a time; after how many looks in a row in which the
// provider takes nothing weft itself looks whether the peer is there.
inline constexpr std::int64_t ofi_watch_ns = 200'000'000;
// By so much the limit of descriptors is raised when the program has taken all.
inline constexpr std::uint64_t ofi_descriptors_added = 64;
inline constexpr std::size_t ofi_watched_max = 64;
inline constexpr int ofi_refusals_max = 2;
// The longest of the first waits, after which libfabric has its descriptors.
inline constexpr int ofi_first_wait_ms_max = 64;
// For how many looks in a row (5 s) a provider may refuse all receive buffers for now.
inline constexpr int ofi_deaf_looks_max = 25;
// The polls that find nothing before the death of a peer is told: by then its last messages are out of the sockets.
inline constexpr int ofi_empty_polls_min = 64;
// After how many looks at a silent peer its connections are looked at; after how many unanswered repetitions, or
// attempts to connect, its host counts as dead: 6 to 7 s.
inline constexpr std::uint8_t ofi_silent_looks = 4;
inline constexpr int ofi_repeats_unanswered_max = 5;
inline constexpr int ofi_connects_unanswered_max = 3;
// So many notes follow the last of several sealed messages, so that one that was changed or held back is missed. A peer
// that says it has not received what was sent so many looks (10 s) before is cut off.
inline constexpr std::uint8_t ofi_following_notes = 2;
inline constexpr std::uint16_t ofi_unconfirmed_looks_max = 50;
// A note may be older than what lies in its sender's sockets. One that comes so much later, and says the same, is not.
inline constexpr std::uint64_t ofi_stale_note_ns = 1'000'000'000;

// How often a sleeper polls that has no descriptor to sleep on.
inline constexpr std::int64_t ofi_blind_sleep_ns = 1'000'000;

// An endpoint that leaves waits at most this long for its last messages to be taken.
inline constexpr std::uint64_t farewell_ns = 1'000'000'000;

inline constexpr double seconds_max = 1e9;
inline constexpr int spin_us_max = 1'000'000;

// A loop is worth the system call that wakes a worker when its chunks together take longer than this. A worker
// remembers the times of this many loop bodies.
inline constexpr double long_loop_ns = 10'000;
inline constexpr std::size_t timed_bodies_max = 64;

// The communication core: handlers that peers may name, matching engines and devices of a runtime; buffers of one
// message.
inline constexpr std::size_t handlers_max = 1024;
inline constexpr std::size_t engines_max = 64;
inline constexpr int devices_max = 1024;
inline constexpr std::size_t message_parts_max = 16;

// The most that a program may ask for: packets of a device and their bytes, registrations that are kept, events of a
// completion queue. More is a mistyped number.
inline constexpr std::size_t packets_max = std::size_t{1} << 24;
inline constexpr std::size_t packet_bytes_min = 64;
inline constexpr std::size_t packet_bytes_max = std::size_t{1} << 30;
inline constexpr std::size_t registrations_max = std::size_t{1} << 24;
inline constexpr std::size_t queue_events_max = std::size_t{1} << 32;

// Operations that one device may have under way for its peers, beyond those its owner posted.
inline constexpr std::size_t operations_max = std::size_t{1} << 20;

// The bytes that one call of a transport's put or get moves.
inline constexpr std::size_t piece_bytes_max = std::size_t{1} << 30;

// From this size on a send is a single copy by get, over a transport that copies messages whole: its receive would
// have to copy it once more.
inline constexpr std::size_t twice_copied_bytes_max = 32 * 1024 - 128;

// Messages that a device takes from one transport in one progress().
inline constexpr int messages_delivered_max = 64;

// A device with a network beside shared memory polls the network at every call while that is busy, and once in this
// many calls when it has been idle for long.
inline constexpr unsigned network_skips_max = 16;

// Messages that a device keeps because its caller forbade retry, before it makes that caller wait.
inline constexpr std::size_t backlog_messages_max = 1024;

// How long the progress worker sleeps between two looks: at least; at most while some worker is awake; at most while
// all workers are parked.
inline constexpr long progress_sleep_ns_min = 20'000;
inline constexpr long progress_sleep_ns_max = 4'000'000;
inline constexpr long progress_sleep_ns_max_parked = 20'000'000;
// How often it looks at one device in a row while something happens there.
inline constexpr int progress_rounds_max = 256;

// Messages that came while a device was pumped and wait for its owner, before the device stops polling transports; it
// may exceed this by one batch of each.
inline constexpr std::size_t deferred_messages_max = 1024;

// Freed buffers of long messages that a device keeps for the next ones.
inline constexpr std::size_t spare_buffers_max = 8;

// A waiting thread pauses once before its second look, then twice as often before each further one, 2^max times at
// most; then it yields.
inline constexpr unsigned spin_rounds_max = 9;
// The same for a thread that wants a device at which another thread is at work. After lock_looks_max looks it takes the
// device all the same: some thousands of operations later, for which the device's lines move between cores only once.
inline constexpr unsigned lock_pause_rounds_min = 2;
inline constexpr unsigned lock_pause_rounds_max = 9;
inline constexpr unsigned lock_looks_max = 14;
inline constexpr int lock_attempts_max = 32;

// The trace events of one thread, 40 bytes each. Newer ones overwrite older ones; the number of lost ones is reported.
inline constexpr std::size_t trace_events_max = std::size_t{1} << 20;
// The same, of those that --breakdown keeps beside the accounts.
inline constexpr std::size_t breakdown_events_max = std::size_t{1} << 17;

// Keys of thread-specific values that a rank of a process of several may have, as many as the C library allows a process.
inline constexpr std::uint32_t own_keys_max = 1024;
// Ranks of a process that get a process number of their own; the others have that of the process.
inline constexpr int own_process_numbers_max = 1000;
// Of --call-paths: how many calls of the program lead to one of weft at most, counted from there; what lies beyond is left
// out. And how many such calls, each with the way that leads to it, a process keeps; paths beyond begin nowhere.
inline constexpr int call_path_calls_max = 32;
inline constexpr int call_path_nodes_max = 1 << 14;

}  // namespace weft
