// weft-breakdown otf2: an event file as an archive in the Open Trace Format 2, for Vampir, Cube and others. A rank is
// a location in a group of its own.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/files.hpp"
#include "breakdown/pattern.hpp"
#include "trace/flows.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

#ifdef WEFT_HAS_OTF2
extern "C" {
#include <otf2/otf2.h>
}
#endif

namespace weft {

#ifndef WEFT_HAS_OTF2

bool has_otf2() noexcept {
  return false;
}
void write_otf2(const std::string& events, const std::string&) {
  throw error(
      formatted("{}: this weft was built without the Open Trace Format: install "
                "libopen-trace-format2-dev and build again",
                events));
}

#else

namespace {

using namespace breakdown;

void must(OTF2_ErrorCode code, const std::string& directory) {
  if (code != OTF2_SUCCESS)
    throw error(formatted("cannot write {}: {}", directory, OTF2_Error_GetDescription(code)));
}

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp after_flush(void*, OTF2_FileType, OTF2_LocationRef) {
  return 0;
}

OTF2_CollectiveOp operation_of(std::string_view call) {
  struct known {
    std::string_view word;
    OTF2_CollectiveOp op;
  };
  constexpr std::array all{known{"educe_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
                           known{"llreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
                           known{"arrier", OTF2_COLLECTIVE_OP_BARRIER},
                           known{"cast", OTF2_COLLECTIVE_OP_BCAST},
                           known{"llgather", OTF2_COLLECTIVE_OP_ALLGATHER},
                           known{"lltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
                           known{"ather", OTF2_COLLECTIVE_OP_GATHER},
                           known{"catter", OTF2_COLLECTIVE_OP_SCATTER},
                           known{"xscan", OTF2_COLLECTIVE_OP_EXSCAN},
                           known{"scan", OTF2_COLLECTIVE_OP_SCAN},
                           known{"Scan", OTF2_COLLECTIVE_OP_SCAN},
                           known{"educe", OTF2_COLLECTIVE_OP_REDUCE}};
  for (const known& one : all)
    if (call.find(one.word) != call.npos) return one.op;
  return OTF2_COLLECTIVE_OP_CREATE_HANDLE;  // Those that make communicators and the like.
}

// Its own lines on standard error would be a second telling.
OTF2_ErrorCode say_nothing(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code,
                           const char*, va_list) {
  return code;
}

class archive {
 public:
  archive(const event_log& log, const std::string& directory)
      : log_(log), shape_(pattern_of(log)), directory_(directory) {
    OTF2_Error_RegisterCallback(say_nothing, nullptr);
    archive_ = OTF2_Archive_Open(
        directory.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive_ == nullptr)
      throw error(formatted("cannot write {}: a new directory is needed", directory));
    static const OTF2_FlushCallbacks flush{before_flush, after_flush};
    must(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr), directory_);
    must(OTF2_Archive_SetSerialCollectiveCallbacks(archive_), directory_);
    must(OTF2_Archive_SetCreator(archive_, "weft-breakdown"), directory_);
    must(OTF2_Archive_OpenEvtFiles(archive_), directory_);
  }
  ~archive() {
    if (archive_ != nullptr) OTF2_Archive_Close(archive_);
  }
  archive(const archive&) = delete;
  archive& operator=(const archive&) = delete;

  void write() {
    find_messages();
    for (int rank = 0; rank < log_.ranks(); ++rank) write_events(rank);
    must(OTF2_Archive_CloseEvtFiles(archive_), directory_);
    // A reader wants a file of each location's own definitions, which has nothing in it.
    must(OTF2_Archive_OpenDefFiles(archive_), directory_);
    for (int rank = 0; rank < log_.ranks(); ++rank) {
      OTF2_DefWriter* const own = OTF2_Archive_GetDefWriter(archive_, location(rank));
      must(OTF2_Archive_CloseDefWriter(archive_, own), directory_);
    }
    must(OTF2_Archive_CloseDefFiles(archive_), directory_);
    write_definitions();
    must(OTF2_Archive_Close(std::exchange(archive_, nullptr)), directory_);
  }

 private:
  static OTF2_LocationRef location(int rank) { return static_cast<OTF2_LocationRef>(rank); }
  static constexpr OTF2_AttributeRef call_site = 0;
  static constexpr OTF2_CommRef world = 0;  // Others follow.

  OTF2_StringRef string(const std::string& text) {
    return strings_.try_emplace(text, static_cast<OTF2_StringRef>(strings_.size())).first->second;
  }
  OTF2_RegionRef region(const std::string& name) {
    string(name);
    return regions_.try_emplace(name, static_cast<OTF2_RegionRef>(regions_.size())).first->second;
  }
  [[nodiscard]] OTF2_TimeStamp time(double ns) const {
    return static_cast<OTF2_TimeStamp>(std::llround(std::max(ns - log_.begun_ns, 0.0)));
  }

  struct message {
    int from, to;
    std::uint32_t number;
  };
  void find_messages() {
    for (int rank = 0; rank < log_.ranks(); ++rank) {
      std::map<std::int64_t, std::uint32_t> sent;
      for (const log_event& e : log_.of_rank[static_cast<std::size_t>(rank)])
        if (e.kind == trace_kind::send) {
          const std::int64_t to = partner_in(e.argument);
          if (to < 0 || to >= log_.ranks()) continue;
          const std::uint32_t number = sent[to]++;
          if (flow_in(e.argument) != 0)  // 0: not known.
            messages_[flow_in(e.argument)] = {rank, static_cast<int>(to), number};
        }
    }
    // Which of the pattern's communicators a collective is of.
    for (std::size_t i = 0; i < shape_.communicators.size(); ++i) string(name_of_communicator(i));
  }
  [[nodiscard]] std::string name_of_communicator(std::size_t i) const {
    return static_cast<int>(shape_.communicators[i].ranks.size()) == log_.ranks()
               ? formatted("communicator {} of all", i)
               : formatted("communicator {} of {}", i, shape_.communicators[i].ranks.size());
  }

  void write_events(int rank) {
    const auto& events = log_.of_rank[static_cast<std::size_t>(rank)];
    OTF2_EvtWriter* const to = OTF2_Archive_GetEvtWriter(archive_, location(rank));
    OTF2_AttributeList* const site = OTF2_AttributeList_New();
    std::vector<OTF2_RegionRef> open;
    std::uint64_t written = 0;
    const auto enter = [&](double ns, const std::string& name, const std::string& where) {
      if (!where.empty()) OTF2_AttributeList_AddStringRef(site, call_site, string(where));
      open.push_back(region(name));
      must(OTF2_EvtWriter_Enter(to, site, time(ns), open.back()), directory_);
      ++written;
    };
    const auto leave = [&](double ns) {
      must(OTF2_EvtWriter_Leave(to, nullptr, time(ns), open.back()), directory_);
      open.pop_back();
      ++written;
    };
    const auto place = [&](const log_event& e) -> const log_place& {
      static const log_place none;
      return e.place < 0 ? none : log_.places[static_cast<std::size_t>(e.place)];
    };
    if (!events.empty()) enter(events.front().ns, log_.program, "");
    // The rank's collectives are, in order, those of its steps.
    const auto& steps = shape_.of_rank[static_cast<std::size_t>(rank)];
    std::size_t next_step = 0;
    std::optional<meeting_of_pattern> met;
    int meetings = 0;
    for (const log_event& e : events) {
      const bool begins = e.phase == trace_phase::begin;
      switch (e.kind) {
        case trace_kind::call:
        case trace_kind::region:
          if (begins)
            enter(e.ns, e.place < 0 ? "call" : place(e).call, place(e).where);
          else if (open.size() > 1)
            leave(e.ns);
          break;
        case trace_kind::send: {
          const std::int64_t partner = partner_in(e.argument);
          const auto found = messages_.find(flow_in(e.argument));
          if (found == messages_.end() || partner < 0 || partner >= log_.ranks()) break;
          must(OTF2_EvtWriter_MpiSend(to, nullptr, time(e.ns), static_cast<std::uint32_t>(partner),
                                      world, found->second.number, e.bytes),
               directory_);
          ++written;
          break;
        }
        case trace_kind::recv: {
          const auto found = messages_.find(flow_in(e.argument));
          if (found == messages_.end() || found->second.to != rank) break;
          must(OTF2_EvtWriter_MpiRecv(to, nullptr, time(e.ns),
                                      static_cast<std::uint32_t>(found->second.from), world,
                                      found->second.number, e.bytes),
               directory_);
          ++written;
          break;
        }
        case trace_kind::wait_collective:
          if (begins) {
            if (e.place < 0 || meetings++ > 0) break;
            while (next_step < steps.size() && steps[next_step].kind != step_kind::collective)
              ++next_step;
            if (next_step == steps.size()) break;
            met = shape_.meetings[static_cast<std::size_t>(steps[next_step++].peer)];
            must(OTF2_EvtWriter_MpiCollectiveBegin(to, nullptr, time(e.ns)), directory_);
            ++written;
          } else if (e.argument == 0 && meetings > 0 && --meetings == 0 && met) {
            must(OTF2_EvtWriter_MpiCollectiveEnd(to, nullptr, time(e.ns), operation_of(met->name),
                                                 static_cast<OTF2_CommRef>(1 + met->communicator),
                                                 root_of(*met), met->bytes, met->bytes),
                 directory_);
            met.reset();
            ++written;
          }
          break;
        default:
          break;
      }
    }
    while (!open.empty()) leave(events.back().ns);
    OTF2_AttributeList_Delete(site);
    must(OTF2_Archive_CloseEvtWriter(archive_, to), directory_);
    counts_.push_back(written);
  }
  // Of the communicator's ranks.
  [[nodiscard]] std::uint32_t root_of(const meeting_of_pattern& m) const {
    const auto& ranks = shape_.communicators[static_cast<std::size_t>(m.communicator)].ranks;
    const auto found = std::ranges::find(ranks, m.root);
    return m.root < 0 || found == ranks.end() ? OTF2_UNDEFINED_UINT32
                                              : static_cast<std::uint32_t>(found - ranks.begin());
  }

  void write_definitions() {
    const std::size_t ranks = log_.of_rank.size();
    OTF2_GlobalDefWriter* const to = OTF2_Archive_GetGlobalDefWriter(archive_);
    const auto put = [&](OTF2_ErrorCode code) { must(code, directory_); };
    const auto length = time(log_.ended_ns) + 1;
    put(OTF2_GlobalDefWriter_WriteClockProperties(to, 1'000'000'000, 0, length,
                                                  OTF2_UNDEFINED_TIMESTAMP));
    // All strings before what refers to them.
    const OTF2_StringRef none = string(""), machine = string("machine"), node = string("node"),
                         host = string("this host"), site = string("call site"),
                         all = string("all ranks"), everything = string("MPI_COMM_WORLD");
    std::vector<OTF2_StringRef> names;
    for (std::size_t r = 0; r < ranks; ++r) names.push_back(string(formatted("rank {}", r)));
    const OTF2_StringRef thread = string("main");
    std::vector<std::pair<OTF2_StringRef, std::string> > in_order;
    for (const auto& [text, number] : strings_) in_order.emplace_back(number, text);
    std::ranges::sort(in_order);
    for (const auto& [number, text] : in_order)
      put(OTF2_GlobalDefWriter_WriteString(to, number, text.c_str()));
    put(OTF2_GlobalDefWriter_WriteAttribute(to, call_site, site, none, OTF2_TYPE_STRING));
    put(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, machine, machine,
                                                 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    put(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 1, host, node, 0));
    std::vector<std::string> region_names(regions_.size());
    for (const auto& [name, number] : regions_) region_names[number] = name;
    for (OTF2_RegionRef number = 0; number < region_names.size(); ++number) {
      const std::string& name = region_names[number];
      const bool is_mpi = name.starts_with("MPI_");
      put(OTF2_GlobalDefWriter_WriteRegion(
          to, number, string(name), string(name), none, OTF2_REGION_ROLE_FUNCTION,
          is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, none, 0, 0));
    }
    std::vector<std::uint64_t> locations;
    for (std::size_t r = 0; r < ranks; ++r) {
      put(OTF2_GlobalDefWriter_WriteLocationGroup(to, static_cast<OTF2_LocationGroupRef>(r),
                                                  names[r], OTF2_LOCATION_GROUP_TYPE_PROCESS, 1,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
      put(OTF2_GlobalDefWriter_WriteLocation(to, r, thread, OTF2_LOCATION_TYPE_CPU_THREAD,
                                             counts_[r], static_cast<OTF2_LocationGroupRef>(r)));
      locations.push_back(r);
    }
    // First where ranks are, then groups of them by their numbers there.
    put(OTF2_GlobalDefWriter_WriteGroup(to, 0, all, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                        static_cast<std::uint32_t>(ranks), locations.data()));
    put(OTF2_GlobalDefWriter_WriteGroup(to, 1, everything, OTF2_GROUP_TYPE_COMM_GROUP,
                                        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                        static_cast<std::uint32_t>(ranks), locations.data()));
    put(OTF2_GlobalDefWriter_WriteComm(to, world, everything, 1, OTF2_UNDEFINED_COMM,
                                       OTF2_COMM_FLAG_NONE));
    for (std::size_t i = 0; i < shape_.communicators.size(); ++i) {
      const std::vector<std::uint64_t> members(shape_.communicators[i].ranks.begin(),
                                               shape_.communicators[i].ranks.end());
      const auto group = static_cast<OTF2_GroupRef>(2 + i);
      put(OTF2_GlobalDefWriter_WriteGroup(
          to, group, string(name_of_communicator(i)), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()), members.data()));
      put(OTF2_GlobalDefWriter_WriteComm(to, static_cast<OTF2_CommRef>(1 + i),
                                         string(name_of_communicator(i)), group, world,
                                         OTF2_COMM_FLAG_NONE));
    }
    put(OTF2_Archive_CloseGlobalDefWriter(archive_, to));
  }

  const event_log& log_;
  pattern shape_;
  std::string directory_;
  OTF2_Archive* archive_ = nullptr;
  std::map<std::string, OTF2_StringRef> strings_;
  std::map<std::string, OTF2_RegionRef> regions_;
  std::unordered_map<std::uint64_t, message> messages_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

bool has_otf2() noexcept {
  return true;
}

void write_otf2(const std::string& events, const std::string& directory) {
  check_can_be_made(directory);
  const event_log log = read_event_log(events, true);
  archive(log, directory).write();
}

#endif

}  // namespace weft
