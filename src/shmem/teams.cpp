// Teams and contexts: who is in them, and under which handles.
#include <algorithm>

#include "collective/new_communicators.hpp"
#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

shmem_team_t handle_of(const team& t, std::size_t index) {
  return reinterpret_cast<shmem_team_t>(std::uintptr_t{t.generation} << 32 | (index + 1));
}

shmem_team_t keep_team(pe_state& me, std::optional<communicator> ranks,
                       const shmem_team_config_t* config, long mask, std::uint32_t generation) {
  if (!ranks) return SHMEM_TEAM_INVALID;
  auto t = std::make_unique<team>();
  t->generation = generation;
  const detail::communicator_state& c = ranks->state();
  t->in_world.resize(static_cast<std::size_t>(c.size()));
  for (int i = 0; i < c.size(); ++i) t->in_world[static_cast<std::size_t>(i)] = c.to(i).number;
  t->ranks = std::move(ranks);
  if (config != nullptr && (mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) t->config = *config;
  auto free = std::find(me.teams.begin(), me.teams.end(), nullptr);
  if (free == me.teams.end()) {
    if (me.teams.size() >= shmem_handles_max)
      fail("a PE may have {} teams: destroy those that are not needed", shmem_handles_max);
    free = me.teams.emplace(free);
  }
  *free = std::move(t);
  return handle_of(**free, static_cast<std::size_t>(free - me.teams.begin()));
}

// A handle that has been used is not used again.
std::uint32_t next_generation(pe_state& me) {
  return ++me.generations;
}

}  // namespace

int team_my_pe(const char* call, shmem_team_t handle) {
  return in_call(call, [&](pe_state& me) {
    return handle == SHMEM_TEAM_INVALID ? -1 : checked_team(me, handle).ranks->rank();
  });
}

int team_n_pes(const char* call, shmem_team_t handle) {
  return in_call(call, [&](pe_state& me) {
    return handle == SHMEM_TEAM_INVALID ? -1 : checked_team(me, handle).size();
  });
}

int team_get_config(const char* call, shmem_team_t handle, long mask, shmem_team_config_t* config) {
  return in_call(call, [&](pe_state& me) {
    if (handle == SHMEM_TEAM_INVALID) return -1;
    const team& t = checked_team(me, handle);
    if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0 && config != nullptr) *config = t.config;
    return 0;
  });
}

int team_translate_pe(const char* call, shmem_team_t from, int pe, shmem_team_t to) {
  return in_call(call, [&](pe_state& me) {
    if (from == SHMEM_TEAM_INVALID || to == SHMEM_TEAM_INVALID) return -1;
    const team& source = checked_team(me, from);
    const team& target = checked_team(me, to);
    if (pe < 0 || pe >= source.size()) return -1;
    const int number = source.world_number(pe);
    if (target.in_world.empty()) return number;
    const auto found = std::find(target.in_world.begin(), target.in_world.end(), number);
    return found == target.in_world.end() ? -1 : static_cast<int>(found - target.in_world.begin());
  });
}

int team_split_strided(const char* call, shmem_team_t parent, int start, int stride, int size,
                       const shmem_team_config_t* config, long mask, shmem_team_t* made) {
  return in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    check_place("new_team", made);
    *made = SHMEM_TEAM_INVALID;
    if (parent == SHMEM_TEAM_INVALID) return -1;
    const team& t = checked_team(me, parent);
    const long last = start + static_cast<long>(size - 1) * stride;
    // All PEs of the parent find the same, and return so.
    if (size < 1 || start < 0 || start >= t.size() || last < 0 || last >= t.size() ||
        (stride == 0 && size != 1))
      return -1;
    const int own = t.ranks->rank();
    const int steps = stride == 0 ? 0 : (own - start) / stride;
    const bool member = own == start + steps * stride && steps >= 0 && steps < size;
    *made = keep_team(
        me, detail::split(t.ranks->state(), own, member ? 0 : undefined_color, steps, call), config,
        mask, next_generation(me));
    return 0;
  });
}

int team_split_2d(const char* call, shmem_team_t parent, int xrange,
                  const shmem_team_config_t* xaxis_config, long xaxis_mask,
                  shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
                  long yaxis_mask, shmem_team_t* yaxis_team) {
  return in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    check_place("xaxis_team", xaxis_team);
    check_place("yaxis_team", yaxis_team);
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (parent == SHMEM_TEAM_INVALID || xrange < 1) return -1;
    const team& t = checked_team(me, parent);
    const int own = t.ranks->rank();
    const int width = std::min(xrange, t.size());
    const int x = own % width, y = own / width;
    *xaxis_team = keep_team(me, detail::split(t.ranks->state(), own, y, x, call), xaxis_config,
                            xaxis_mask, next_generation(me));
    *yaxis_team = keep_team(me, detail::split(t.ranks->state(), own, x, y, call), yaxis_config,
                            yaxis_mask, next_generation(me));
    return 0;
  });
}

void team_destroy(const char* call, shmem_team_t handle) {
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    if (handle == SHMEM_TEAM_INVALID) return;
    if (handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED)
      fail("{} is predefined: leave it to shmem_finalize",
           handle == SHMEM_TEAM_WORLD ? "SHMEM_TEAM_WORLD" : "SHMEM_TEAM_SHARED");
    team& t = checked_team(me, handle);
    meet(me, t, call);
    for (const auto& c : me.contexts)
      if (c->of == &t) {
        end_session(me, call, c.get());
        me.memory->quiet(c->operations);
        note_quiet(me, c->operations);
        c->of = nullptr;
      }
    const std::size_t index = (reinterpret_cast<std::uintptr_t>(handle) & 0xffff'ffff) - 1;
    me.teams[index].reset();
  });
}

int context_create(const char* call, shmem_team_t handle, long options, shmem_ctx_t* made) {
  return in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    check_place("ctx", made);
    *made = SHMEM_CTX_INVALID;
    if (handle == SHMEM_TEAM_INVALID) return -1;
    team& t = checked_team(me, handle);
    if ((options & ~(SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE)) != 0)
      fail(
          "options 0x{:x}: pass 0, or some of SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED and "
          "SHMEM_CTX_NOSTORE",
          options);
    auto free = std::find_if(me.contexts.begin(), me.contexts.end(),
                             [](const auto& c) { return c->of == nullptr; });
    if (free == me.contexts.end()) {
      if (me.contexts.size() >= shmem_handles_max) return -1;
      free = me.contexts.insert(free, std::make_unique<context>());
    }
    context& c = **free;
    c.of = &t;
    c.team_handle = handle;
    c.options = options;
    c.generation = next_generation(me);
    const auto index = static_cast<std::size_t>(free - me.contexts.begin());
    *made = reinterpret_cast<shmem_ctx_t>(std::uintptr_t{c.generation} << 32 | (index + 2));
    return 0;
  });
}

void context_destroy(const char* call, shmem_ctx_t handle) {
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    if (handle == SHMEM_CTX_INVALID) return;
    context* const c = checked_context(me, handle);
    if (c == nullptr) fail("ctx is SHMEM_CTX_DEFAULT, which is there until shmem_finalize");
    end_session(me, call, c);
    me.memory->quiet(c->operations);
    note_quiet(me, c->operations);
    c->of = nullptr;
  });
}

int context_get_team(const char* call, shmem_ctx_t handle, shmem_team_t* team) {
  return in_call(call, [&](pe_state& me) {
    check_place("team", team);
    *team = SHMEM_TEAM_INVALID;
    if (handle == SHMEM_CTX_INVALID) return -1;
    const context* const c = checked_context(me, handle);
    *team = c == nullptr ? SHMEM_TEAM_WORLD : c->team_handle;
    return 0;
  });
}

}  // namespace weft::shmem
