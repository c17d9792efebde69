// Processes that start later, and jobs that meet: MPI 5.0, "Process Creation and Management".
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "collective/collectives.hpp"
#include "collective/joining.hpp"
#include "mpi/io/blocking_operations.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/spawn/channel.hpp"
#include "mpi/spawn/children.hpp"
#include "mpi/spawn/names.hpp"
#include "rank/remote.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// Runs `work(stop)` beside the rank, which lets others of its worker run meanwhile, and messages come.
void run_beside(state& me, const char* call, const std::string& port,
                const std::function<void(const stop_question&)>& work) {
  const stop_question stop = [&home = *me.rank.home] { return home.owner().stopping(); };
  std::exception_ptr failure;
  const std::function<void()> guarded = [&] {
    try {
      work(stop);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  };
  const blocking_purpose what{.call = call, .file = port, .kind = "port", .alone = true};
  if (const auto begun = begin_blocking(me, what, guarded); begun != nullptr)
    await_blocking(me, what, *begun);
  else
    guarded();
  me.rank.home->check_stopped();
  if (failure != nullptr) std::rethrow_exception(failure);
}

// All ranks of `local` meet those of another job, which may be on other hosts if rank `root` says so. Of rank `root`, begin() is
// called by the rank itself, and then make(), beside it, returns the channel to the other leader.
MPI_Comm meet_other_job(state& me, communicator_object& local, int root, const char* call,
                        const std::string& port, bool beyond_host,
                        const std::function<leader_channel(const stop_question&)>& make,
                        const std::function<void()>& begin = {}) {
  const auto awaited = std::make_shared<const other_job_awaited>(*me.rank.of);
  std::optional<leader_channel> channel;
  const auto tell = [&](const std::string& text) {
    std::string theirs;
    if (!channel && begin) begin();
    run_beside(me, call, port, [&](const stop_question& stop) {
      if (!channel) channel.emplace(make(stop));
      theirs = channel->tell_and_hear(text, stop);
    });
    return theirs;
  };
  joined_groups made = join_jobs(*local.shared, local.own, root, beyond_host, tell, call);
  communicator_object& c = me.communicators.make(std::move(made.all));
  c.locals_first = made.is_first ? 0 : made.other;
  c.peers_first = made.is_first ? made.own : 0;
  c.peers_count = made.other;
  c.session = local.session;
  hold_other_job(me, awaited);
  set_error_handler(me, c, local.handler);
  return handle_of(c);
}

// --- Ports -----------------------------------------------------------------------------------------

// Those of this process, by their names.
std::mutex ports_lock;
std::map<std::string, std::shared_ptr<listening_port>>& ports() {
  static std::map<std::string, std::shared_ptr<listening_port>> all;
  return all;
}

// Whether the job speaks over a network, so that jobs of other hosts may meet it.
bool speaks_beyond_host(const state& me) {
  const std::vector<int>& nodes = me.rank.of->node_of_process;
  return me.rank.of->how.transport.starts_with("ofi") ||
         std::ranges::any_of(nodes, [&](int node) { return node != nodes.front(); });
}

port_place place_of_port(state& me, MPI_Info info) {
  port_place at{.beyond_host = speaks_beyond_host(me), .address = {}, .number = 0};
  for (const auto& [key, value] : checked_hints(me, info)) {
    if (key == "ip_address") at.address = value;
    if (key != "ip_port") continue;
    const auto [stop, failure] =
        std::from_chars(value.data(), value.data() + value.size(), at.number);
    if (failure != std::errc() || stop != value.data() + value.size() || at.number == 0)
      fail(MPI_ERR_INFO_VALUE, "the info key ip_port has \"{}\"; it may be from 1 to 65535", value);
  }
  return at;
}

std::string checked_text(const char* text, const char* what) {
  check_not_null(text, what);
  return text;
}

void give_port_name(const std::string& name, char* to) {
  std::memcpy(to, name.c_str(), std::min<std::size_t>(name.size() + 1, MPI_MAX_PORT_NAME));
}

// --- Spawn -----------------------------------------------------------------------------------------

struct spawn_call {
  const char* name;
  int root;
  MPI_Comm comm;
  MPI_Comm* intercomm;
  int* codes;
  int not_started;  // What stands in `codes` for a process that has not started.
};

// What the root is given: throws what is wrong with it.
using programs_of_root = std::function<std::vector<wanted_program>()>;

void set_codes(const spawn_call& how, const std::vector<int>& ranks_max,
               const std::vector<int>& ranks) {
  int* codes = how.codes;
  if (codes == MPI_ERRCODES_IGNORE || codes == nullptr) return;
  for (std::size_t p = 0; p < ranks_max.size(); ++p)
    for (int r = 0; r < ranks_max[p]; ++r) *codes++ = r < ranks[p] ? MPI_SUCCESS : how.not_started;
}

void spawn(state& me, const spawn_call& how, const programs_of_root& programs_given) {
  check_not_null(how.intercomm, "intercomm");
  communicator_object& local = checked_intracommunicator(me, how.comm);
  check_root(local, how.root);
  *how.intercomm = MPI_COMM_NULL;
  const bool is_root = local.rank() == how.root;
  std::vector<wanted_program> programs;
  std::vector<int> ranks_max, ranks;
  std::exception_ptr failure;
  if (is_root) try {
      programs = programs_given();
      for (const wanted_program& p : programs) ranks_max.push_back(p.ranks_max), ranks.push_back(0);
      for (wanted_program& p : programs) settle(p);
      for (std::size_t p = 0; p < programs.size(); ++p) ranks[p] = programs[p].ranks;
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  // How many there are all ranks learn, for their error codes.
  std::int32_t count = static_cast<std::int32_t>(ranks_max.size());
  const auto share = [&](std::span<std::byte> data) {
    broadcast(*local.shared, local.own, data, how.root, how.name);
  };
  share(std::as_writable_bytes(std::span(&count, 1)));
  ranks_max.resize(static_cast<std::size_t>(count));
  ranks.resize(static_cast<std::size_t>(count));
  share(std::as_writable_bytes(std::span(ranks_max)));
  share(std::as_writable_bytes(std::span(ranks)));
  std::string name = "that children connect to";
  bool beyond = speaks_beyond_host(me);
  for (const wanted_program& p : programs) beyond |= starts_elsewhere(p);
  std::optional<listening_port> port;
  pid_t child = -1;
  // On the rank's thread, which has the directory and the mask of modes that are the rank's.
  const auto start = [&] {
    if (failure != nullptr) std::rethrow_exception(failure);
    port.emplace(port_place{.beyond_host = beyond, .address = {}, .number = 0});
    const unpinned_thread all_cpus;
    child = start_job(programs, port->name());
  };
  const auto make = [&](const stop_question& stop) {
    std::string end;
    try {
      leader_channel made = port->accept([&] {
        if (end.empty()) end = end_of(child);
        return !end.empty() || stop();
      });
      note_child(child);
      return made;
    } catch (const std::exception&) {
      if (end.empty()) {
        note_child(child);
        throw;
      }
      fail(MPI_ERR_SPAWN, "\"{}\" {} before its ranks had called MPI_Init",
           programs.front().command, end);
    }
  };
  try {
    *how.intercomm = meet_other_job(me, local, how.root, how.name, name, beyond, make, start);
  } catch (const std::exception&) {
    set_codes(how, ranks_max, std::vector<int>(ranks_max.size(), 0));
    throw;
  }
  set_codes(how, ranks_max, ranks);
}

wanted_program program_of(state& me, const char* command, char** arguments, int ranks_max,
                          MPI_Info info) {
  wanted_program made;
  made.command = checked_text(command, "command");
  while (made.command.ends_with(' ')) made.command.pop_back();
  if (arguments != MPI_ARGV_NULL)
    for (; *arguments != nullptr; ++arguments) made.arguments.emplace_back(*arguments);
  made.ranks_max = ranks_max;
  made.info = checked_hints(me, info);
  return made;
}

// The frames of the two calls. Inline: the return address is the public function's.
[[gnu::always_inline]] inline int spawn_one(const char* command, char** arguments, int ranks_max,
                                            MPI_Info info, const spawn_call& how) {
  return in_call(
      how.name, how.comm,
      [&](state& me) {
        spawn(me, how,
              [&] { return std::vector{program_of(me, command, arguments, ranks_max, info)}; });
      },
      ranks_max, info, how.root, how.comm);
}

[[gnu::always_inline]] inline int spawn_several(int count, char** commands, char*** arguments,
                                                const int* ranks_max, const MPI_Info* infos,
                                                const spawn_call& how) {
  return in_call(
      how.name, how.comm,
      [&](state& me) {
        spawn(me, how, [&] {
          if (count < 1) fail(MPI_ERR_COUNT, "count is {}; it must be 1 or more", count);
          check_not_null(commands, "array_of_commands");
          check_not_null(ranks_max, "array_of_maxprocs");
          check_not_null(infos, "array_of_info");
          std::vector<wanted_program> all;
          for (int i = 0; i < count; ++i)
            all.push_back(program_of(me, commands[i],
                                     arguments == MPI_ARGVS_NULL ? MPI_ARGV_NULL : arguments[i],
                                     ranks_max[i], infos[i]));
          return all;
        });
      },
      count, how.root, how.comm);
}

// What a rank has of other jobs.
struct other_jobs {
  MPI_Comm parent = MPI_COMM_NULL;
  std::vector<std::shared_ptr<const void>> awaited;
};

// By rank. An entry goes with the rank's last communicator with ranks of another job, or with MPI_Init of a later rank.
std::mutex other_jobs_lock;
std::map<const state*, other_jobs>& all_other_jobs() {
  static std::map<const state*, other_jobs> all;
  return all;
}

}  // namespace

void hold_other_job(state& me, std::shared_ptr<const void> awaited) {
  const std::lock_guard hold(other_jobs_lock);
  all_other_jobs()[&me].awaited.push_back(std::move(awaited));
}

void look_for_other_jobs(state& me) {
  bury_children();
  const std::lock_guard hold(other_jobs_lock);
  const auto mine = all_other_jobs().find(&me);
  if (mine == all_other_jobs().end()) return;
  // Another communicator may get the same handle.
  MPI_Comm& parent = mine->second.parent;
  if (parent != MPI_COMM_NULL && find_object<communicator_object>(parent) == nullptr)
    parent = MPI_COMM_NULL;
  bool any = false;
  const auto look = [&](const communicator_object& c) { any |= reaches_other_jobs(*c.shared); };
  me.communicators.each(look);
  // The program has freed these, and requests on them are open.
  for (const communicator_object* c : me.retired) look(*c);
  if (!any) all_other_jobs().erase(mine);
}

void join_parent(state& me) {
  {
    const std::lock_guard hold(other_jobs_lock);
    all_other_jobs().erase(&me);
  }
  const std::string port = port_of_parent();
  if (const std::string handler = initial_handler(); !handler.empty()) {
    const MPI_Errhandler named = handler == "mpi_errors_return"  ? MPI_ERRORS_RETURN
                                 : handler == "mpi_errors_abort" ? MPI_ERRORS_ABORT
                                                                 : MPI_ERRORS_ARE_FATAL;
    set_error_handler(me, *me.world, named);
    set_error_handler(me, *me.self, named);
  }
  if (port.empty()) return;
  const MPI_Comm parent =
      meet_other_job(me, *me.world, 0, "MPI_Init", port, leads_beyond_host(port),
                     [&](const stop_question& stop) { return connect_to_port(port, stop); });
  find_object<communicator_object>(parent)->name = "MPI_COMM_PARENT";
  const std::lock_guard hold(other_jobs_lock);
  all_other_jobs()[&me].parent = parent;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_spawn,
                  (const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[])) {
  return spawn_one(command, argv, maxprocs, info,
                   {"MPI_Comm_spawn", root, comm, intercomm, array_of_errcodes, MPI_ERR_SPAWN});
}

WEFT_MPI_FUNCTION(int, MPI_Comm_spawn_multiple,
                  (int count, char* array_of_commands[], char** array_of_argv[],
                   const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                   MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[])) {
  return spawn_several(
      count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
      {"MPI_Comm_spawn_multiple", root, comm, intercomm, array_of_errcodes, MPI_ERR_SPAWN});
}

// The same for older interfaces (abi/older), whose programs know MPI_ERR_SPAWN as `not_started`.
extern "C" int weft_coded_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info,
                                int root, MPI_Comm comm, MPI_Comm* intercomm,
                                int array_of_errcodes[], int not_started) {
  return spawn_one(command, argv, maxprocs, info,
                   {"MPI_Comm_spawn", root, comm, intercomm, array_of_errcodes, not_started});
}
extern "C" int weft_coded_spawn_multiple(int count, char* array_of_commands[],
                                         char** array_of_argv[], const int array_of_maxprocs[],
                                         const MPI_Info array_of_info[], int root, MPI_Comm comm,
                                         MPI_Comm* intercomm, int array_of_errcodes[],
                                         int not_started) {
  return spawn_several(
      count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
      {"MPI_Comm_spawn_multiple", root, comm, intercomm, array_of_errcodes, not_started});
}

WEFT_MPI_FUNCTION(int, MPI_Comm_get_parent, (MPI_Comm * parent)) {
  return in_call(
      "MPI_Comm_get_parent", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(parent, "parent");
        const std::lock_guard hold(other_jobs_lock);
        const auto mine = all_other_jobs().find(&me);
        *parent = mine == all_other_jobs().end() ? MPI_COMM_NULL : mine->second.parent;
      },
      parent);
}

WEFT_MPI_FUNCTION(int, MPI_Open_port, (MPI_Info info, char* port_name)) {
  return in_call(
      "MPI_Open_port", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(port_name, "port_name");
        auto made = std::make_shared<listening_port>(place_of_port(me, info));
        give_port_name(made->name(), port_name);
        const std::lock_guard hold(ports_lock);
        ports().emplace(made->name(), std::move(made));
      },
      info);
}

WEFT_MPI_FUNCTION(int, MPI_Close_port, (const char* port_name)) {
  return in_call(
      "MPI_Close_port", MPI_COMM_SELF,
      [&](state&) {
        const std::string name = checked_text(port_name, "port_name");
        const std::lock_guard hold(ports_lock);
        if (ports().erase(name) == 0)
          fail(MPI_ERR_PORT, "\"{}\" is no port that this process has open", name);
      },
      port_name);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_accept,
                  (const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                   MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_accept", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        communicator_object& local = checked_intracommunicator(me, comm);
        check_root(local, root);
        const bool is_root = local.rank() == root;
        const std::string name = is_root ? checked_text(port_name, "port_name") : "";
        *newcomm = meet_other_job(
            me, local, root, "MPI_Comm_accept", name, leads_beyond_host(name),
            [&](const stop_question& stop) {
              check_hints(me, info);
              std::shared_ptr<listening_port> port;
              {
                const std::lock_guard hold(ports_lock);
                if (const auto at = ports().find(name); at != ports().end()) port = at->second;
              }
              if (port == nullptr)
                fail(
                    MPI_ERR_PORT,
                    "\"{}\" is no port that this process has open: MPI_Open_port opens one, and the same process accepts",
                    name);
              return port->accept(stop);
            });
      },
      root, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_connect,
                  (const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                   MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_connect", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        communicator_object& local = checked_intracommunicator(me, comm);
        check_root(local, root);
        const std::string name =
            local.rank() == root ? checked_text(port_name, "port_name") : std::string();
        *newcomm = meet_other_job(me, local, root, "MPI_Comm_connect", name,
                                  leads_beyond_host(name), [&](const stop_question& stop) {
                                    check_hints(me, info);
                                    return connect_to_port(name, stop);
                                  });
      },
      root, comm);
}

// The program keeps its socket: a copy of the descriptor is used, and closed.
WEFT_MPI_FUNCTION(int, MPI_Comm_join, (int fd, MPI_Comm* intercomm)) {
  return in_call(
      "MPI_Comm_join", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(intercomm, "intercomm");
        descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        int type = 0;
        socklen_t size = sizeof type;
        if (copy.number() < 0 ||
            ::getsockopt(copy.number(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
            type != SOCK_STREAM)
          fail(MPI_ERR_ARG, "fd {} is no connected socket of bytes in order (SOCK_STREAM)", fd);
        *intercomm = meet_other_job(
            me, *me.self, 0, "MPI_Comm_join", "of a socket", leads_beyond_host(copy.number()),
            [&](const stop_question&) { return leader_channel(std::move(copy)); });
      },
      fd);
}

WEFT_MPI_FUNCTION(int, MPI_Publish_name,
                  (const char* service_name, MPI_Info info, const char* port_name)) {
  return in_call(
      "MPI_Publish_name", MPI_COMM_SELF,
      [&](state& me) {
        check_hints(me, info);
        publish_name(checked_text(service_name, "service_name"),
                     checked_text(port_name, "port_name"));
      },
      service_name, info, port_name);
}

WEFT_MPI_FUNCTION(int, MPI_Unpublish_name,
                  (const char* service_name, MPI_Info info, const char* port_name)) {
  return in_call(
      "MPI_Unpublish_name", MPI_COMM_SELF,
      [&](state& me) {
        check_hints(me, info);
        (void)checked_text(port_name, "port_name");
        unpublish_name(checked_text(service_name, "service_name"));
      },
      service_name, info, port_name);
}

WEFT_MPI_FUNCTION(int, MPI_Lookup_name,
                  (const char* service_name, MPI_Info info, char* port_name)) {
  return in_call(
      "MPI_Lookup_name", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(port_name, "port_name");
        check_hints(me, info);
        give_port_name(find_name(checked_text(service_name, "service_name")), port_name);
      },
      service_name, info);
}
