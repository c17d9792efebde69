// Two PEs whose only peer process sends any messages of one-sided memory and of active messages in any order, while they
// put, get, call and wait: the job ends when the peer does, nothing outside of the symmetric memory is written, and
// handlers see payloads that are there.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/wire.hpp"
#include "fuzz/byte_source.hpp"
#include "fuzz/peer_job.hpp"
#include "made_up_endpoint.hpp"
#include "rma/memory.hpp"
#include "shmem/core.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft;
using rma::initiator;
using rma::memory;
using rma::update;
using tests::byte_source;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr int ranks = 4;  // Two in each process.
constexpr std::size_t arena_bytes = 8192;
constexpr std::size_t heap_bytes = 4000;  // What is behind is nobody's.
constexpr int handlers_set = 3;           // Ids 1 to 3 on both PEs.

// Of this job: its one worker runs everything.
struct {
  int ready = 0;
  bool has_ended = false;
  std::uint32_t part = 0;  // The number of each rank's part of the heap.
  std::array<comm::handler_id, 10> names;
} now;

class hostile_endpoint final : public tests::made_up_endpoint {
 public:
  explicit hostile_endpoint(byte_source& from) : made_up_endpoint("fuzz"), from_(from) {}
  status send(std::uint32_t, const wire_header&, wire_parts parts, void*) noexcept override {
    read(parts);
    return now.has_ended ? status::failed : status::done;
  }
  // One message per poll, until the input ends, and the peer with it.
  int poll(arrivals& to, int) noexcept override {
    if (now.ready < 2 || now.has_ended) return 0;
    if (from_.ended()) {
      now.has_ended = true;
      to.peer_failed(1, "its input has ended");
      return 1;
    }
    wire_header header{};
    std::vector<std::byte> payload = make(header);
    if (from_.byte() < 32) {
      comm::gathered_head head{field64(payload.size()), header};
      std::vector<std::byte> whole(comm::gathered_size(payload.size()) * 2);
      for (std::size_t i = 0; i < 2; ++i) {
        std::byte* const at = whole.data() + i * whole.size() / 2;
        std::memcpy(at, &head, sizeof head);
        if (!payload.empty()) std::memcpy(at + sizeof head, payload.data(), payload.size());
      }
      payload = std::move(whole);
      header = {};
      header.kind = static_cast<std::uint8_t>(comm::message_kind::gathered);
    }
    to.delivered(1, header, payload);
    return 1;
  }
  [[nodiscard]] bool arm() noexcept override { return now.has_ended; }

 private:
  // Mostly what means something.
  std::uint32_t field(std::uint32_t meaningful) {
    return from_.byte() < 216 ? meaningful : static_cast<std::uint32_t>(from_.word(meaningful));
  }
  std::uint64_t field64(std::uint64_t meaningful) {
    return from_.byte() < 216 ? meaningful : from_.word(meaningful);
  }
  std::uint32_t near() { return field(from_.byte() % 2u); }
  std::uint32_t far() { return field(2 + from_.byte() % 2u); }
  static std::uint64_t two(std::uint64_t high, std::uint64_t low) { return high << 32 | low; }
  template <class T>
  static void add(std::vector<std::byte>& to, const T& value) {
    const auto all = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), all.begin(), all.end());
  }
  void add_any(std::vector<std::byte>& to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<std::byte>(from_.byte()));
  }
  std::uint64_t distance() {
    return field64(from_.byte() % 8u * 8 + (heap_bytes - 64) * (from_.byte() % 2u));
  }
  // One of the first names of a reply table.
  std::uint32_t name_of_question(int index_bits) {
    return field((1 + from_.byte() % 4u) << index_bits | from_.byte() % 4u);
  }
  // An update_kind.
  std::uint32_t kind() {
    return field(from_.byte() % 9u | from_.byte() % 5u << 8 | (from_.byte() % 2u) << 16);
  }

  std::vector<std::byte> make(wire_header& header) {
    std::vector<std::byte> data;
    header.kind = static_cast<std::uint8_t>(comm::message_kind::am);
    const std::size_t which = from_.byte() % now.names.size();
    header.handler = now.names[which].index;
    header.tag = distance();
    header.size = two(field(now.part), near());
    header.operation = two(name_of_question(8), far());
    switch (which) {
      case 0:  // put
        add_any(data, from_.byte());
        break;
      case 1:  // get
        header.user = field(from_.byte());
        break;
      case 2:  // update
        header.user = kind();
        add_any(data, 16);
        break;
      case 3:  // flush
        break;
      case 4:  // answer
        header.size = near();
        header.operation = name_of_question(8);
        add_any(data, field(from_.byte() % 4u * 8) % 100);
        break;
      case 5:  // look
        break;
      case 6:  // gathered
        for (unsigned left = from_.byte() % 8u; left > 0; --left) {
          const bool is_update = from_.byte() < 128;
          const std::uint32_t bytes = is_update ? 8 : field(from_.byte() % 40u);
          add(data, distance());
          add(data, field(now.part));
          add(data, is_update ? kind() | 1u << 31 : bytes);
          add_any(data, bytes % 4096 / 8 * 8 + (bytes % 8 != 0 ? 8 : 0));
        }
        break;
      case 7: {  // part
        constexpr std::array<std::uint32_t, 4> ids{1, 2, 0x7fff'ffff, 0x7fff'fffe};
        const std::uint32_t id = field(ids[from_.byte() % ids.size()]);
        if (id == ids[3])
          for (unsigned left = from_.byte() % 5u; left > 0; --left) {
            const std::uint32_t bytes = field(from_.byte() % 40u);
            add(data, two(field(1 + from_.byte() % 3u), bytes));
            add_any(data, bytes % 4096 / 8 * 8 + (bytes % 8 != 0 ? 8 : 0));
          }
        else
          add_any(data, from_.byte());
        // Whole, or in parts.
        const bool is_whole = from_.byte() < 192;
        const std::uint32_t offset = is_whole ? 0 : field(from_.byte());
        header.tag = two(is_whole ? data.size() : field(from_.byte()), offset);
        header.size = two(id, near());
        header.operation = two(from_.byte() < 128 ? 0 : name_of_question(16), far());
        break;
      }
      case 8:  // elements
        header.user = field(from_.byte() % 32u << 8 | from_.byte());
        add(data, field64(from_.byte() % 5u));
        add_any(data, from_.byte() % 5u * 8);
        break;
      default:  // handled
        header.tag = field64(from_.byte() % 4u * 32);
        header.size = near();
        header.operation = far();
        add(data, field64(from_.byte() % 4u));
    }
    if (from_.byte() < 8) data.resize(from_.byte());
    return data;
  }

  byte_source& from_;
};

// Handlers of messages.
unsigned long read_by_handlers;
void reads(void* payload, std::size_t length, void*, void*, int source) {
  require(source >= 0 && source < ranks);
  for (std::size_t i = 0; i < length; ++i)
    read_by_handlers += static_cast<const unsigned char*>(payload)[i];
}
void sends_on(void* payload, std::size_t length, void* args_r, void* args_p, int source) {
  reads(payload, length, args_r, args_p, source);
  shmem::am_send("fuzz", SHMEM_CTX_DEFAULT, 1, payload, std::min<std::size_t>(length, 100), source);
}

// What initiator::allocate() makes. The parts lie in memory of which the end is nobody's.
alignas(64) std::array<std::array<std::byte, arena_bytes>, ranks> heaps;
const rma::region& make_heap(memory& shared, initiator& mine, int rank) {
  rma::region_table& table = shared.add_table(1);
  table.size = ranks;
  table.bases.resize(ranks);
  for (std::size_t i = 0; i < ranks / 2; ++i) table.bases[i] = heaps[i].data();
  now.part = mine.exposed().reserve();  // The same of both ranks: it is the first.
  table.common = {heap_bytes, 1, now.part};
  const std::span<std::byte> own(heaps[static_cast<std::size_t>(rank)].data(), heap_bytes);
  mine.exposed().expose(now.part, own);
  return mine.add(table, rank, own, now.part);
}

// What shmem_init() makes, without the peer.
shmem::pe_state& make_pe(detail::rank_state& me) {
  memory& shared = memory::of(me);
  initiator& mine = initiator::attach(me);
  auto made = std::make_unique<shmem::pe_state>(me);
  shmem::pe_state& pe = *made;
  me.faces[shmem::face_slot] = std::move(made);
  detail::job& j = *me.of;
  auto& process = static_cast<shmem::process_state&>(*j.faces[shmem::face_slot]);
  pe.settings.am_queue_bytes = 1 << 20;
  pe.number = me.number;
  pe.size = ranks;
  pe.memory = &mine;
  pe.symmetric.set(make_heap(shared, mine, me.number), {});
  pe.teams.push_back(std::make_unique<shmem::team>());
  pe.teams[0]->ranks.emplace(communicator(me.shared->world, me.number));
  process.pes[static_cast<std::size_t>(me.number)] = &pe;
  pe.pes = process.pes.data();
  pe.messages.from =
      std::vector<published<shmem::am_queue*>>(static_cast<std::size_t>(j.workers->worker_count()));
  pe.messages.storage.resize(pe.messages.from.size());
  const memory::names& of_memory = shared.messages();
  now.names = {of_memory.put,      of_memory.get,  of_memory.update,   of_memory.flush,
               of_memory.answer,   of_memory.look, of_memory.gathered, process.part,
               of_memory.elements, process.handled};
  pe.usable = true;
  for (int i = 0; i < handlers_set; ++i) {
    int id = 0;
    shmem::am_set_handler("fuzz", i == 1 ? &sends_on : &reads, nullptr, &id);
  }
  ++now.ready;
  return pe;
}

template <class T = std::uint64_t>
T* word_of(const shmem::pe_state& pe, std::size_t at) {
  return reinterpret_cast<T*>(pe.symmetric.heap().data() + at);
}

void call(shmem::pe_state& pe, int which) {
  std::array<std::uint64_t, 12> got{};
  const int other = 2 + pe.number;
  initiator& mine = *pe.memory;
  rma::context& c = pe.operations;
  switch (which % 8) {
    case 0:
      while (!now.has_ended) (void)shmem::am_poll("fuzz", nullptr);
      break;
    case 1:
      mine.put(c, pe.symmetric.at(word_of(pe, 8), other), &got, sizeof got);
      mine.quiet(c);
      break;
    case 2:
      mine.get(c, got.data() + 2, pe.symmetric.at(word_of(pe, 16), other), 64);
      break;
    case 3:
      (void)mine.fetch<update::add>(c, pe.symmetric.at(word_of(pe, 24), other), std::uint64_t{1});
      break;
    case 4:
      (void)shmem::am_call("fuzz", 1, got.data(), 8, other, got.data() + 2, 64, nullptr);
      break;
    case 5:
      shmem::am_send("fuzz", SHMEM_CTX_DEFAULT, 2, got.data(), 40, other);
      shmem::am_quiet("fuzz", nullptr);
      break;
    case 6:
      shmem::session_start("fuzz", SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
      for (int i = 0; i < 20; ++i) {
        mine.put(c, pe.symmetric.at(word_of(pe, 8), other), std::uint64_t{1});
        shmem::am_send("fuzz", SHMEM_CTX_DEFAULT, 1, got.data(), 8, other);
      }
      shmem::session_stop("fuzz", SHMEM_CTX_DEFAULT);
      mine.quiet(c);
      break;
    default:
      mine.wait_until([&] { return now.has_ended || initiator::look(word_of(pe, 64)) != 0; },
                      {"fuzz"});
  }
  require(got[0] == 0 && got[1] == 0 && got[10] == 0 && got[11] == 0);
}

void take_part(int which) {
  detail::rank_state& me = detail::calling_rank("fuzz");
  shmem::pe_state& pe = make_pe(me);
  try {
    call(pe, which >> (3 * me.number));
    while (!now.has_ended) (void)shmem::am_poll("fuzz", nullptr);
  } catch (const error&) {
  }
  pe.usable = false;
  for (std::byte& one : heaps[static_cast<std::size_t>(pe.number)]) {
    require(&one < heaps[static_cast<std::size_t>(pe.number)].data() + heap_bytes ||
            one == std::byte{0});
    one = {};
  }
}

}  // namespace

// A fiber that ends gives its fake stack away while it still stands on it.
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_source from(data, size);
  const int which = from.byte();
  now = {};
  tests::run_beside_peer(
      ranks, [&] { return std::make_unique<hostile_endpoint>(from); },
      [&](communicator&) { take_part(which); });
  return 0;
}
