// Which calls and variables are translated. Everything is, until a reason against it is found; a reason spreads from a
// call to its variables, from a variable to its calls and to those that it is given to, and to calls that another rank may
// make in its place. It ends, since reasons only grow.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/format.hpp"
#include "weft-translate/program.hpp"

namespace weft::translate {
namespace {

// Calls that take and give neither a rank that may be nobody nor a tag, by what follows MPI_.
constexpr std::array without_peers = {"Init",
                                      "Init_thread",
                                      "Finalize",
                                      "Initialized",
                                      "Finalized",
                                      "Wtime",
                                      "Wtick",
                                      "Abort",
                                      "Barrier",
                                      "Bcast",
                                      "Reduce",
                                      "Allreduce",
                                      "Gather",
                                      "Gatherv",
                                      "Scatter",
                                      "Scatterv",
                                      "Allgather",
                                      "Allgatherv",
                                      "Alltoall",
                                      "Alltoallv",
                                      "Alltoallw",
                                      "Scan",
                                      "Exscan",
                                      "Reduce_scatter",
                                      "Comm_rank",
                                      "Comm_size",
                                      "Comm_split",
                                      "Comm_dup",
                                      "Comm_free",
                                      "Wait",
                                      "Waitall",
                                      "Waitany",
                                      "Waitsome",
                                      "Test",
                                      "Testall",
                                      "Dims_create",
                                      "Start",
                                      "Startall",
                                      "Get_count",
                                      "Cart_create",
                                      "Cart_coords",
                                      "Cart_get",
                                      "Op_create",
                                      "Op_free",
                                      "Get_address",
                                      "Get_version",
                                      "Request_free",
                                      "Testany",
                                      "Comm_set_errhandler",
                                      "Error_string",
                                      "Get_library_version",
                                      "Get_processor_name",
                                      "Reduce_scatter_block",
                                      "Comm_split_type"};

bool has_peers(std::string_view function) {
  const std::string_view name = function.substr(function.find('_') + 1);
  if (name.starts_with("Type_") || name.starts_with("Info_")) return false;
  for (const std::string_view without : without_peers)
    if (name == without) return false;
  return true;
}

// Of those, which take or give MPI_UNDEFINED.
bool has_undefined(std::string_view function) {
  for (const std::string_view of :
       {"split", "any", "some", "Get_count", "Type_", "Group", "Cart", "Graph"})
    if (function.find(of) != std::string_view::npos) return true;
  return false;
}

// Those that all ranks make together: one rank's may meet another's at another line.
bool is_collective(std::string_view function) {
  for (const std::string_view of :
       {"Barrier", "Bcast", "educe", "Gather", "Scatter", "gather", "Alltoall", "Scan", "Exscan",
        "ibarrier", "Ibcast", "Igather", "Iscatter", "Ialltoall", "Iscan", "Iexscan", "Ibarrier",
        "Comm_dup", "Comm_split"})
    if (function.find(of) != std::string_view::npos) return true;
  return false;
}

class decision {
 public:
  explicit decision(program& p) : p_(p) {}

  void take() {
    if (!p_.all_stay.empty())
      for (auto& [key, c] : p_.calls) stays(c, p_.all_stay, "threads-and-errors");
    for (auto& [key, v] : p_.variables)
      if (!v.defined) stays(v, "its definition is in none of the given files");
    do {
      changed_ = false;
      calls_follow_variables();
      variables_follow();
      collectives_agree();
      numbers_agree();
    } while (changed_);
    p_.has_own_numbers = has_own_numbers();
    p_.has_own_colors = p_.has_own_numbers;
    for (const auto& [key, c] : p_.calls)
      if (!c.why.empty() ? has_undefined(c.function) : c.function == "MPI_Waitany")
        p_.has_own_colors = false;
  }

 private:
  void stays(call& c, const std::string& why, const std::string& page) {
    if (!c.why.empty()) return;
    c.why = why;
    c.page = page;
    changed_ = true;
  }
  void stays(variable& v, const std::string& why) {
    if (!v.why.empty()) return;
    v.why = why;
    changed_ = true;
  }

  void calls_follow_variables() {
    for (auto& [key, c] : p_.calls)
      for (const std::string& of : c.variables) {
        const variable& v = p_.variables.at(of);
        if (v.kind == variable_kind::error_code) {
          if (v.read)
            stays(c, formatted("the program looks at what it returns, in {}", v.name), "errors");
        } else if (!v.why.empty()) {
          stays(c, formatted("{} stays as it is: {}", v.name, v.why), "variables");
        }
      }
  }

  void variables_follow() {
    for (const auto& [key, c] : p_.calls) {
      if (c.why.empty()) continue;
      for (const std::string& of : c.variables) {
        variable& v = p_.variables.at(of);
        if (v.kind != variable_kind::error_code)
          stays(v, formatted("{} at line {} stays", c.function, c.at.line));
      }
    }
    for (auto& [key, v] : p_.variables) {
      for (const std::string& of : v.same) {
        const auto other = p_.variables.find(of);
        if (other == p_.variables.end()) {
          stays(v, "it is given to a function that is in none of the given files");
          continue;
        }
        if (!other->second.why.empty())
          stays(v, formatted("{}, which is given to or from it, stays", other->second.name));
        if (!v.why.empty())
          stays(other->second, formatted("{}, which is given to or from it, stays", v.name));
        if (v.read != other->second.read) {
          v.read = other->second.read = true;
          changed_ = true;
        }
      }
    }
  }

  // Ranks that meet give the same operation and datatype, as far as these are known.
  [[nodiscard]] static bool can_meet(const call& a, const call& b) {
    const auto fit = [](const std::string& x, const std::string& y) {
      return x.empty() || y.empty() || x == y;
    };
    return a.function == b.function && fit(a.operation, b.operation) && fit(a.datatype, b.datatype);
  }

  void collectives_agree() {
    std::vector<const call*> staying;
    for (const auto& [key, c] : p_.calls)
      if (!c.why.empty() && is_collective(c.function)) staying.push_back(&c);
    for (auto& [key, c] : p_.calls)
      for (const call* other : staying)
        if (other != &c && can_meet(*other, c))
          stays(c,
                formatted("another rank may make the one at line {} meanwhile, which stays",
                          other->at.line),
                "collectives");
  }

  [[nodiscard]] bool has_own_numbers() const {
    for (const auto& [key, c] : p_.calls)
      if (!c.why.empty() && has_peers(c.function)) return false;
    return true;
  }

  void numbers_agree() {
    if (has_own_numbers()) return;
    for (auto& [key, c] : p_.calls)
      if (c.has_peer_to_convert && (p_.mentions_proc_null || p_.mentions_any_tag))
        stays(c,
              "a rank or tag of it may be MPI_PROC_NULL or MPI_ANY_TAG, of which other calls need "
              "MPI's values: put it into a variable first",
              "nobody");
  }

  program& p_;
  bool changed_ = false;
};

// Whether names of MPI are left in a text, but for comments, strings and inclusions.
bool names_mpi(std::string_view text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '#' &&
        rest.substr(1, rest.find('\n')).find("define") != std::string_view::npos) {
      // What a macro stands for counts where it is used.
      while (i < text.size() && (text[i] != '\n' || text[i - 1] == '\\')) ++i;
    } else if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
    } else if (text[i] == '"' || text[i] == '\'') {
      const char quote = text[i];
      for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i)
        if (text[i] == '\\') ++i;
    } else if (is_word(text[i])) {
      if (rest.starts_with("MPI_") || rest.starts_with("PMPI_")) return true;
      while (i + 1 < text.size() && is_word(text[i + 1])) ++i;
    }
  }
  return false;
}

void decide_about_mpi(program& p) {
  bool anything_stays = false;
  for (const auto& [key, c] : p.calls)
    if (!c.why.empty()) anything_stays = true;
  // Also where only a type or constant is left.
  p.is_without_mpi = !anything_stays;
  if (p.is_without_mpi)
    for (const auto& [name, file] : p.files)
      if (names_mpi(rewritten(p, name))) p.is_without_mpi = false;
  if (p.is_without_mpi) return;
  for (auto& [key, c] : p.calls)
    if (c.begins_or_ends && c.why.empty()) {
      c.why = "other names of MPI stay, which need it";
      c.page = "both-faces";
    }
}

}  // namespace

void decide(program& p) {
  decision(p).take();
  decide_about_mpi(p);
  for (const auto& [name, file] : p.files)
    if (file.is_c && file.given && rewritten(p, name) != file.text) p.becomes_cpp = true;
}

}  // namespace weft::translate
