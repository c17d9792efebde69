// Partitioned messages. Between ranks of one process the two requests share a board (sync/partition_board.hpp): the thread that
// makes the last of some neighbouring partitions ready copies these into the receiver's memory, and the receiver copies what it
// asks for and is ready, so that all partitions together are one exchange, of which both sides are told once. Between processes
// the message goes as a whole when its last partition is ready.
//
// MPI_Pready and MPI_Parrived take no lock and need no rank: threads and tasks may call them, and chunks of loops.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/prefetch.hpp"
#include "collective/collectives.hpp"
#include "collective/control_messages.hpp"
#include "collective/named_messages.hpp"
#include "mpi/datatype/section.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/point_to_point/partitioned.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "rank/remote.hpp"
#include "rank/request_watch.hpp"
#include "sync/partition_board.hpp"
#include "sync/published.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// In the context of the communicator, where nothing else uses the two bits together. The tag there is a number that the
// receiver has chosen: the messages of one key may be sent in another order than that in which they are matched.
constexpr std::uint32_t partitioned_context = group_context | neighbor_context;

// So many bytes of partitions are copied together by the sender: enough that what a copy costs beside its bytes does not count.
constexpr std::size_t copied_together_bytes = 4096;

// One side of a message.
struct partitioned_side {
  operation* op = nullptr;
  int worker = remote_worker;  // Its rank's home.
  segments where;
  std::size_t part_bytes = 0;
};

// What both sides share. Each is written before the other may see it: the receiver's before it begins a round, the sender's
// before the board is published.
struct partitioned_channel {
  std::unique_ptr<partition_board<>> storage;
  published<partition_board<>*> board{nullptr};
  partitioned_side send;
  partitioned_side receive;
  // The receiver's memory, where it lies in a row and partitions are small: who makes one ready asks for its lines, which
  // belong to the receiver's core, before the group is copied. Nothing is read or written by this address.
  published<const std::byte*> target{nullptr};
  bool are_alike = false;  // Partitions of both sides have equally many bytes.
  message_status told;     // What the receiver's status says.
  // Of a message to another process: the sender's home, which waits for the last partition. Then there is no receiver here.
  worker* waiting = nullptr;
  // Under the lock of `meeting`:
  std::uint32_t early_round = 0;  // The receiver has begun before there was a board.
  std::uint32_t rounds_sent = 0;  // Once the sender begins no more rounds: how many it has begun.
  bool sender_has_left = false;
  std::uint32_t awaited_round = 0;  // The receiver waits for it in MPI_Finalize.

  // Copies the partitions first + b for the bits b of `which`.
  void copy(std::size_t first, std::uint64_t which) const {
    if (waiting != nullptr) return;
    while (which != 0) {
      const auto skipped = static_cast<std::size_t>(std::countr_zero(which));
      const auto in_row = static_cast<std::size_t>(std::countr_one(which >> skipped));
      copy_in_row(first + skipped, in_row);
      if (skipped + in_row == 64) return;
      which &= ~std::uint64_t{0} << (skipped + in_row);
    }
  }
  void copy_in_row(std::size_t first, std::size_t count) const {
    const std::size_t begin = first * send.part_bytes;
    const std::size_t end =
        std::min({begin + count * send.part_bytes, send.where.size(), receive.where.size()});
    if (begin >= end) return;
    if (send.where.contiguous() && receive.where.contiguous())
      std::memcpy(receive.where.flat().data() + begin, send.where.flat().data() + begin,
                  end - begin);
    else
      copy_segments(receive.where, send.where, begin, end);
  }
  [[nodiscard]] auto copier() const noexcept {
    return [this](std::size_t first, std::uint64_t which) { copy(first, which); };
  }
};

// Which message a request is for. Those of one key are matched in the order in which the requests are made.
using message_key = std::tuple<const messaging*, std::uint32_t, int, int, int>;

// Where the requests of one process meet.
struct meeting_place {
  std::mutex lock;
  // Channels that have one side.
  std::map<message_key, std::deque<std::shared_ptr<partitioned_channel>>> senders, receivers;
  // How many requests of a key have been made here for messages between processes. Both sides count alike, so a number may not
  // be forgotten while the communicator can be used.
  std::map<message_key, std::uint64_t> sent_elsewhere, received_from_elsewhere;
  int last_tag = 0;
};
meeting_place& meeting() {
  static meeting_place place;
  return place;
}

}  // namespace

// What a request has. Its threads only read it while a round is under way.
struct partitioned_message {
  std::shared_ptr<partitioned_channel>
      channel;  // Null with MPI_PROC_NULL, and where a message comes from elsewhere.
  message_key key;
  bool sends = false;
  int partitions = 0;  // As the program says.
  std::uint32_t round = 0;
  const char* made_by = "";
  int tag = MPI_ANY_TAG;        // Of a message from another process: the program's.
  std::string name;             // Of one to another process: under which its tag comes.
  int tag_there = unknown_tag;  // That tag.
  static constexpr int unknown_tag = -1;

  partitioned_message() = default;
  partitioned_message(const partitioned_message&) = delete;
  partitioned_message& operator=(const partitioned_message&) = delete;
  // The sender begins no more rounds. A receiver that waits in MPI_Finalize for another one ends its wait.
  void leave_sending() noexcept {
    worker* const here = worker::current();
    {
      const std::lock_guard hold(meeting().lock);
      channel->sender_has_left = true;
      channel->rounds_sent = round;
      if (channel->awaited_round <= round) return;
      channel->awaited_round = 0;
    }
    if (here != nullptr && !here->owner().stopping())
      finish_rendezvous(*here, {channel->receive.op, nullptr, 0, channel->receive.worker});
  }
  // Whoever has not met the other side goes.
  ~partitioned_message() {
    if (channel == nullptr || channel->waiting != nullptr) return;
    if (sends) leave_sending();
    meeting_place& m = meeting();
    const std::lock_guard hold(m.lock);
    auto& waiting = sends ? m.senders : m.receivers;
    const auto at = waiting.find(key);
    if (at == waiting.end()) return;
    std::erase(at->second, channel);
    if (at->second.empty()) waiting.erase(at);
  }
};

namespace {

// The channel that the other side has made, or a new one, which waits for it. `fill` writes this side's part.
template <class Fill>
std::shared_ptr<partitioned_channel> meet_other(const message_key& key, bool sends,
                                                const Fill& fill) {
  meeting_place& m = meeting();
  const std::lock_guard hold(m.lock);
  auto& theirs = sends ? m.receivers : m.senders;
  std::shared_ptr<partitioned_channel> channel;
  if (const auto at = theirs.find(key); at != theirs.end()) {
    channel = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) theirs.erase(at);
    fill(*channel);
  } else {
    channel = std::make_shared<partitioned_channel>();
    fill(*channel);
    (sends ? m.senders : m.receivers)[key].push_back(channel);
  }
  return channel;
}

void make_board(partitioned_channel& c, int partitions) {
  std::size_t together = 64;
  if (c.waiting == nullptr && c.send.part_bytes != 0)
    together =
        std::bit_ceil(std::clamp<std::size_t>(copied_together_bytes / c.send.part_bytes, 1, 64));
  c.storage = std::make_unique<partition_board<>>(static_cast<std::size_t>(std::max(partitions, 1)),
                                                  together);
  if (c.early_round != 0)
    (void)c.storage->begin_receiving(c.early_round, c.copier());  // Nothing is ready yet.
  c.board.publish(c.storage.get());
}

// Called once in each round, by who has settled the last partition, on any thread. `waiting`: c.waiting, read before: then the
// sender may have ended the request already, and the channel is gone.
void end_round(const partitioned_channel& c, worker* waiting, const char* call) {
  if (waiting != nullptr) return waiting->notify();
  const entrance in;  // A thread that the rank has made attaches; elsewhere nothing is done.
  worker* const here = worker::current();
  if (here == nullptr) (void)in.checked(call);  // Says why.
  c.receive.op->result = c.told;
  finish_rendezvous(*here, {c.receive.op, nullptr, 0, c.receive.worker});
  finish_rendezvous(*here, {c.send.op, nullptr, 0, c.send.worker});
}

// Called by who has completed a group: others may end the round, and both requests be freed, before it returns.
[[gnu::noinline]] void complete_group(partitioned_channel& c, std::size_t p, std::uint32_t round,
                                      const char* call) {
  worker* const waiting = c.waiting;
  if (c.storage->complete_group(p, round, c.copier())) end_round(c, waiting, call);
}

inline void ask_for_target(const partitioned_channel& c, std::size_t p, std::uint32_t round) {
  const std::byte* const target = c.target.hint();
  if (target == nullptr || !c.storage->seems_receiving(round)) return;
  const std::byte* line = target + p * c.send.part_bytes;
  for (const std::byte* const end = line + c.send.part_bytes; line < end; line += cache_line)
    prefetch_for_writing(line);
}

[[noreturn, gnu::cold]] void fail_partition(const partitioned_message& m, int partition) {
  fail(MPI_ERR_ARG, "partition {}: the request has partitions 0 to {}", partition,
       m.partitions - 1);
}
[[noreturn, gnu::cold]] void fail_twice(int partition) {
  fail(MPI_ERR_ARG,
       "partition {} is ready already: MPI_Pready is called once for each after MPI_Start",
       partition);
}

[[noreturn, gnu::cold, gnu::noinline]] void fail_request(MPI_Request request, bool sends) {
  const request_object& r = checked_request(request);
  const char* const maker = sends ? "MPI_Psend_init" : "MPI_Precv_init";
  if (!r.is_partitioned())
    fail(MPI_ERR_REQUEST, "{} is of no partitioned message: make it with {}", text_of(request),
         maker);
  fail(MPI_ERR_REQUEST, "{} is of {}: pass one of {}", text_of(request),
       r.details->partitions->made_by, maker);
}

// The checks of MPI_Pready and MPI_Parrived.
request_object& checked_partitions(MPI_Request request, bool sends) {
  auto* const r = find_object<request_object>(request);
  if (r == nullptr || !r->is_partitioned() || r->details->partitions->sends != sends) [[unlikely]]
    fail_request(request, sends);
  return *r;
}

void mark_ready(partitioned_message& m, int partition, const char* call) {
  if (partition < 0 || partition >= m.partitions) [[unlikely]]
    fail_partition(m, partition);
  if (m.channel == nullptr) return;  // To nobody.
  partitioned_channel& c = *m.channel;
  const auto p = static_cast<std::size_t>(partition);
  const std::uint32_t round = m.round;
  ask_for_target(c, p, round);
  const partition_turn turn = c.storage->mark(p, round);
  if (turn == partition_turn::group_complete)
    complete_group(c, p, round, call);
  else if (turn == partition_turn::twice) [[unlikely]]
    fail_twice(partition);
}

// Calls mark_ready() for what `each` visits. No state of the rank is touched, unless there is an error.
template <class Each, class... Arguments>
int make_ready(const char* call, MPI_Request request, const Each& each,
               const Arguments&... arguments) {
  try {
    const request_object& r = checked_partitions(request, true);
    if (!r.active)
      fail(MPI_ERR_REQUEST, "the request is not active: call MPI_Start before {}", call);
    partitioned_message& m = *r.details->partitions;
    each([&](int partition) { mark_ready(m, partition, call); });
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    const auto* const r = find_object<request_object>(request);
    const entrance in;
    return end_in_error(r == nullptr ? MPI_COMM_SELF : r->where,
                        text_of_call(call, arguments..., request));
  } catch (const job_stopped&) {
    pass_on_stop();
    return MPI_ERR_OTHER;  // Not reached.
  }
}

struct partition_range {
  std::size_t first, last;
};

// Of a partition of the receiver: those of the sender's that hold its bytes.
partition_range partitions_under(const partitioned_channel& c, std::size_t partition,
                                 std::size_t count) {
  const std::size_t each = c.send.part_bytes;
  const std::size_t total = std::min(c.send.where.size(), c.receive.where.size());
  const std::size_t begin = std::min(partition * c.receive.part_bytes, total);
  const std::size_t end = std::min(begin + c.receive.part_bytes, total);
  if (begin == end) return {0, count - 1};  // Of no bytes, or behind all: with the whole message.
  return {begin / each, (end - 1) / each};
}

// What is ready and has not been copied is copied here.
bool has_arrived(const request_object& r, const partitioned_message& m, int partition,
                 const char* call) {
  if (m.channel == nullptr) return r.complete();
  const partitioned_channel& c = *m.channel;
  partition_board<>* const board = c.board.value();
  if (board == nullptr) return false;
  const std::uint32_t round = m.round;
  const auto p = static_cast<std::size_t>(partition);
  const bool is_one = c.are_alike && p < board->count();
  if (is_one && board->has_arrived(p, round)) [[likely]]
    return true;
  const auto [first, last] =
      is_one ? partition_range{p, p} : partitions_under(c, p, board->count());
  if (board->have_arrived(first, last, round)) return true;
  if (board->take_ready(first, last, round, c.copier())) {
    end_round(c, nullptr, call);
    return true;
  }
  return board->have_arrived(first, last, round);
}

void look_for(const request_object& r, int partition, int* flag) {
  const partitioned_message& m = *r.details->partitions;
  check_not_null(flag, "flag");
  if (partition < 0 || partition >= m.partitions) fail_partition(m, partition);
  // An inactive request has all of the last round, or nothing yet.
  *flag = !r.active || has_arrived(r, m, partition, "MPI_Parrived") ? 1 : 0;
}

// What most calls of MPI_Parrived find: a partition of an active request that has arrived, of a message whose sides have equal
// partitions.
bool arrived_at_once(MPI_Request request, int partition) noexcept {
  const auto* const r = find_object<request_object>(request);
  if (r == nullptr || !r->active || !r->is_partitioned()) return false;
  const partitioned_message& m = *r->details->partitions;
  if (m.sends || m.channel == nullptr || partition < 0 || partition >= m.partitions) return false;
  const partitioned_channel& c = *m.channel;
  const partition_board<>* const board = c.board.value();
  const auto p = static_cast<std::size_t>(partition);
  return board != nullptr && c.are_alike && p < board->count() && board->has_arrived(p, m.round);
}

// Whether the message comes from another process: then nobody but the worker can tell whether it has come.
bool comes_from_elsewhere(const request_object& r) {
  return r.details->partitions->channel == nullptr && !r.from_nobody;
}

// The first look takes no lock. One that finds nothing lets others of the worker run, as a failed test does.
[[gnu::noinline]] int arrived(MPI_Request request, int partition, int* flag) {
  try {
    const request_object& r = checked_partitions(request, false);
    if (!comes_from_elsewhere(r)) {
      look_for(r, partition, flag);
      if (*flag != 0 || worker::current() == nullptr || worker::caller() == nullptr)
        return MPI_SUCCESS;
    }
  } catch (const std::exception&) {
    const auto* const r = find_object<request_object>(request);
    const entrance in;
    return end_in_error(r == nullptr ? MPI_COMM_SELF : r->where,
                        text_of_call("MPI_Parrived", request, partition, flag));
  } catch (const job_stopped&) {
    pass_on_stop();
    return MPI_ERR_OTHER;  // Not reached.
  }
  return in_call(
      "MPI_Parrived", find_object<request_object>(request)->where,
      [&](state& me) {
        me.rank.home->yield();
        look_for(checked_partitions(request, false), partition, flag);
      },
      request, partition, flag);
}

// --- Making them -----------------------------------------------------------------------------------------------------

struct arguments {
  const void* buffer;
  int partitions;
  MPI_Count count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
  MPI_Info info;
};

MPI_Count all_elements(const arguments& a) {
  MPI_Count all = 0;
  if (__builtin_mul_overflow(static_cast<MPI_Count>(a.partitions), a.count, &all))
    fail(MPI_ERR_COUNT, "{} partitions of {} elements are beyond all memory", a.partitions,
         a.count);
  return all;
}

segments placed(const byte_view data) {
  return segments(std::span(const_cast<std::byte*>(data.data()), data.size()));
}
segments placed(const segments& data) {
  return data;
}

// Both sides of a message between processes call it this.
std::string name_of_next(const message_key& key, bool sends) {
  meeting_place& m = meeting();
  const std::lock_guard hold(m.lock);
  const std::uint64_t number = ++(sends ? m.sent_elsewhere : m.received_from_elsewhere)[key];
  return formatted("partitions {} {} {} {} {}", std::get<1>(key), std::get<2>(key),
                   std::get<3>(key), std::get<4>(key), number);
}

// The receiver tells its tag as soon as the request is made.
int tell_tag(state& me, const peer& sender, const message_key& key, const char* call) {
  const std::string name = name_of_next(key, false);
  int tag = 0;
  {
    const std::lock_guard hold(meeting().lock);
    tag = meeting().last_tag;
    meeting().last_tag = tag == std::numeric_limits<int>::max() ? 0 : tag + 1;
  }
  send_named(me.rank, sender.number, name, std::as_bytes(std::span(&tag, 1)), call);
  return tag;
}
void hear_tag(state& me, partitioned_message& m, const peer& receiver, const char* call) {
  if (m.tag_there != partitioned_message::unknown_tag) return;
  int tag = partitioned_message::unknown_tag;
  const std::vector<std::byte> came =
      me.named.receive(me.rank, receiver.number, m.name, sizeof tag, call);
  if (came.size() == sizeof tag) std::memcpy(&tag, came.data(), sizeof tag);
  if (tag < 0)
    fail(MPI_ERR_OTHER, "rank {} of the job says {} as the tag of a message", receiver.number, tag);
  m.tag_there = tag;
}

// Of what goes to another process: it is sent on a fiber of its own when the last partition is ready.
std::function<weft::request()> sender_of(state& me, const std::shared_ptr<partitioned_message>& m,
                                         const route& to, const char* call) {
  const auto group = to.comm->ranks.shared_state();
  envelope from = to.of_send();
  from.context |= partitioned_context;
  return [&me, m, group, from, peer = to.peer, call] {
    return start_activity(group, [&me, m, group, from, peer, call] {
      const partitioned_channel& all = *m->channel;
      const wait_description what{call, from.context, peer, from.tag, all.send.where.size()};
      me.rank.home->wait_until(looks{[&] { return all.storage->all_settled(); }}, what);
      hear_tag(me, *m, group->to(peer), call);
      control_messages with(me.rank, what, lengths::any);
      with.send(group->to(peer), peer, {from.context, from.source, m->tag_there}, all.send.where);
      with.wait();
    });
  };
}

void make(state& me, const arguments& a, bool sends, MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  if (a.partitions < 0)
    fail(MPI_ERR_ARG, "partitions is {}: pass how many there are", a.partitions);
  check_hints(me, a.info);
  check_count(a.count);
  if (!sends && (a.peer == MPI_ANY_SOURCE || a.tag == MPI_ANY_TAG))
    fail(a.peer == MPI_ANY_SOURCE ? MPI_ERR_RANK : MPI_ERR_TAG,
         "a partitioned message names its source and its tag: {} is not one of them",
         a.peer == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE" : "MPI_ANY_TAG");
  const MPI_Count elements = all_elements(a);
  const route r = sends ? send_route(me, elements, a.datatype, a.peer, a.tag, a.comm)
                        : receive_route(me, elements, a.datatype, a.peer, a.tag, a.comm);
  // The partitions of a section of a Fortran array may begin anywhere in it.
  std::optional<segments> section;
  if (!r.to_nobody()) {
    if (r.type->sections != nullptr)
      section = layout_of(a.buffer, elements, *r.type);
    else
      check_buffer(a.buffer, elements, *r.type);
  }
  auto m = std::make_shared<partitioned_message>();
  m->sends = sends;
  m->partitions = a.partitions;
  m->made_by = call;
  request_object& made =
      make_request(me, r.comm->peers_first, a.comm,
                   sends ? request_object::type::send : request_object::type::receive);
  made.active = false;
  made.from_nobody = r.to_nobody();
  request_details& d = made.needed_details(me.details);
  d.persistent = true;
  d.made_by = call;
  d.partitions = m;
  if (me.births != nullptr) me.births->born(object_kind::request, &made);
  *request = handle_of(made);
  if (r.to_nobody()) return describe_nothing(made, me, r);
  d.group = r.comm->ranks.shared_state();
  const peer& there = r.comm->shared->to(r.peer);
  if (is_of_other_job(*me.rank.shared, there.number))
    fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "the other rank is of another job, to which partitioned messages do not go: send plain ones");
  partitioned_side side{&made.own_work, me.rank.home->index(), {}, bytes_of(a.count, *r.type)};
  const auto place = [&](const auto& data) {
    set_memory(made.own_work, kept_by(me, made, data));
    side.where = placed(data);
  };
  if (section)
    place(*section);
  else
    with_data(a.buffer, elements, *r.type, place);
  operation& op = made.own_work;
  op.match = sends ? r.of_send() : r.of_receive();
  op.what = sends ? operation::kind::send : operation::kind::recv;
  op.peer = r.peer;
  op.owner = &me.rank;
  op.peer_worker = there.worker;
  const int own = r.comm->own;
  m->key = {me.rank.shared, r.comm->shared->context, sends ? own : r.peer, sends ? r.peer : own,
            a.tag};
  if (there.worker != remote_worker) {
    m->channel = meet_other(m->key, sends, [&](partitioned_channel& c) {
      (sends ? c.send : c.receive) = side;
      // Right as soon as both are there; the sender does not read it.
      c.are_alike = c.send.part_bytes == c.receive.part_bytes && side.part_bytes != 0;
      if (!sends && side.where.contiguous() && side.part_bytes < copied_together_bytes)
        c.target.publish(side.where.flat().data());
      if (!sends) return;
      c.told = {own, a.tag, side.where.size()};
      make_board(c, a.partitions);
    });
  } else if (sends) {
    m->channel = std::make_shared<partitioned_channel>();
    m->channel->send = side;
    m->channel->waiting = me.rank.home;
    make_board(*m->channel, a.partitions);
    made.what = request_object::type::collective;
    made.work = nullptr;
    m->name = name_of_next(m->key, true);
    d.start_collective = sender_of(me, m, r, call);
  } else {
    m->tag = a.tag;
    op.match = envelope{r.comm->shared->context | partitioned_context, r.peer,
                        tell_tag(me, there, m->key, call)};
  }
}

// Whether the sender has come meanwhile; else it finds the round when it comes.
partition_board<>* board_or_early(partitioned_channel& c, std::uint32_t round) {
  if (partition_board<>* const board = c.board.value(); board != nullptr) return board;
  const std::lock_guard hold(meeting().lock);
  if (partition_board<>* const board = c.board.value(); board != nullptr) return board;
  c.early_round = round;
  return nullptr;
}

void begin_receiving(partitioned_message& m) {
  partitioned_channel& c = *m.channel;
  partition_board<>* const board = board_or_early(c, m.round);
  if (board != nullptr && board->begin_receiving(m.round, c.copier()))
    end_round(c, nullptr, "MPI_Start");
}

}  // namespace

void correct_tag(const request_object& r, MPI_Status* status) {
  const partitioned_message& m = *r.details->partitions;
  if (status != MPI_STATUS_IGNORE && m.tag != MPI_ANY_TAG) status->MPI_TAG = m.tag;
}

bool withdraw_unmet(const request_object& r) {
  const partitioned_message& m = *r.details->partitions;
  if (m.sends || m.channel == nullptr || r.complete()) return false;
  partitioned_channel& c = *m.channel;
  const std::lock_guard hold(meeting().lock);
  if (c.board.value() == nullptr) {
    c.early_round = 0;
    return true;
  }
  if (c.sender_has_left) return m.round > c.rounds_sent;
  c.awaited_round = m.round;
  return false;
}

void leave_inactive(const request_object& r) {
  partitioned_message& m = *r.details->partitions;
  if (m.sends && m.channel != nullptr && m.channel->waiting == nullptr) m.leave_sending();
}

void await_end_of_arrived(state& me, const request_object& r) {
  const partitioned_message& m = *r.details->partitions;
  if (m.sends || m.channel == nullptr) return;
  const partition_board<>* const board = m.channel->board.value();
  if (board == nullptr) return;
  if (!board->have_arrived(0, board->count() - 1, m.round)) return;
  const operation& op = r.own_work;
  me.rank.home->wait_until(looks{[&] { return op.complete; }},
                           {m.made_by, op.match.context, op.match.source, op.match.tag, op.bytes});
}

void start_partitioned(state& me, request_object& r) {
  request_details& d = *r.details;
  partitioned_message& m = *d.partitions;
  operation& op = r.own_work;
  op.complete = r.from_nobody;
  op.failed = false;
  op.result = {};
  op.counter = nullptr;
  ++m.round;
  r.active = true;
  if (r.from_nobody) return watch(me, op, d.made_by);
  if (m.channel == nullptr) {
    watch(me, op, d.made_by);
    start_receive(me.rank, op);
    return;
  }
  rank_counts& counts = me.rank.counts;
  if (!m.sends) {
    watch(me, op, d.made_by);
    ++counts.received;
    counts.received_bytes += op.bytes;
    return begin_receiving(m);
  }
  ++counts.sent;
  counts.sent_bytes += op.bytes;
  partition_board<>& board = *m.channel->storage;
  board.begin_sending();
  if (r.what == request_object::type::collective) {
    (void)board.begin_receiving(m.round, m.channel->copier());  // Nothing is ready yet.
    d.started = d.start_collective();
    r.work = d.started.started();
    if (me.rank.watch != nullptr) [[unlikely]]
      me.rank.watch->name(*r.work, d.made_by);
  } else {
    watch(me, op, d.made_by);
  }
  // Of no partitions the board has one, which is ready at once.
  if (m.partitions == 0 && board.mark(0, m.round) == partition_turn::group_complete)
    complete_group(*m.channel, 0, m.round, "MPI_Start");
}

}  // namespace weft::mpi

using namespace weft::mpi;

#define PARTITIONED(name, buffer_type, sends, peer_name)                                           \
  WEFT_MPI_FUNCTION(                                                                               \
      int, name,                                                                                   \
      (buffer_type buf, int partitions, MPI_Count count, MPI_Datatype datatype, int peer_name,     \
       int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request)) {                             \
    return in_call(                                                                                \
        #name, comm,                                                                               \
        [&](state& me) {                                                                           \
          make(me, {buf, partitions, count, datatype, peer_name, tag, comm, info}, sends, request, \
               #name);                                                                             \
        },                                                                                         \
        static_cast<const void*>(buf), partitions, count, datatype, peer_name, tag, comm, info,    \
        request);                                                                                  \
  }
PARTITIONED(MPI_Psend_init, const void*, true, dest)
PARTITIONED(MPI_Precv_init, void*, false, source)

WEFT_MPI_FUNCTION(int, MPI_Pready, (int partition, MPI_Request request)) {
  return make_ready(
      "MPI_Pready", request, [&](const auto& mark) { mark(partition); }, partition);
}
WEFT_MPI_FUNCTION(int, MPI_Pready_range,
                  (int partition_low, int partition_high, MPI_Request request)) {
  return make_ready(
      "MPI_Pready_range", request,
      [&](const auto& mark) {
        if (partition_low > partition_high)
          fail(MPI_ERR_ARG, "partition_low {} is beyond partition_high {}", partition_low,
               partition_high);
        for (int p = partition_low; p <= partition_high; ++p) mark(p);
      },
      partition_low, partition_high);
}
WEFT_MPI_FUNCTION(int, MPI_Pready_list,
                  (int length, const int array_of_partitions[], MPI_Request request)) {
  return make_ready(
      "MPI_Pready_list", request,
      [&](const auto& mark) {
        check_count(length);
        if (length > 0) check_not_null(array_of_partitions, "array_of_partitions");
        for (int i = 0; i < length; ++i) mark(array_of_partitions[i]);
      },
      length, static_cast<const void*>(array_of_partitions));
}
WEFT_MPI_FUNCTION(int, MPI_Parrived, (MPI_Request request, int partition, int* flag)) {
  if (flag != nullptr && arrived_at_once(request, partition)) [[likely]] {
    *flag = 1;
    return MPI_SUCCESS;
  }
  return arrived(request, partition, flag);
}
