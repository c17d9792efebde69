// What weft-translate knows of a program once the compiler has read it, and what becomes of it: facts by file and
// offset, without the compiler's types. The files of a program are read one after the other (analysis.cpp); then it is decided
// what can be translated (decision.cpp), since what one file does with a communicator binds the others; then the new text is
// written (rewriting.cpp).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::translate {

struct place {
  std::string file;
  unsigned line = 0;
};

// A part of new text. Source is text of the same file, in which other edits take place.
struct piece {
  enum class kind : std::uint8_t {
    text,
    source,
    peer,  // Source: the number of a rank, which MPI and weft write differently where it is nobody.
    tag,   // Source: the tag of a receive, the same for any tag.
    color,  // Source: the color of a split, the same for MPI_UNDEFINED.
  };
  kind what = kind::text;
  std::string text{};  // Of a peer or tag that is a constant of MPI's: weft's name for it.
  unsigned begin = 0;
  unsigned end = 0;
  bool plain = false;    // A peer or tag that cannot be a constant of MPI's.
  std::string status{};  // Only where this status is read, or where it is not.
  bool when_read = true;
};

// When an edit takes place.
enum class condition : std::uint8_t {
  always,
  call,         // The call `key` is translated.
  variable,     // The variable `key` is translated.
  without_mpi,  // Nothing of MPI is left in the program.
  own_numbers,  // No call of MPI that is left takes or gives the number of a rank or a tag.
  own_colors,   // Nor MPI_UNDEFINED.
};

struct edit {
  unsigned begin = 0;
  unsigned end = 0;
  std::vector<piece> out{};
  condition when = condition::always;
  std::string key{};
};

enum class variable_kind : std::uint8_t { communicator, request, status, error_code, datatype };

// A variable, parameter or member of one of MPI's types; of all its declarations.
struct variable {
  variable_kind kind = variable_kind::communicator;
  std::string name;
  place at;
  std::string why{};  // Why it stays as it is; empty: it is translated.
  bool defined = false;
  bool read = false;             // Of a status or error code: the program looks at it.
  std::string type{};            // Of a datatype: what it becomes.
  std::set<std::string> same{};  // Variables that share its fate.
};

// A call of MPI.
struct call {
  std::string function;
  place at;
  unsigned begin = 0;
  unsigned end = 0;
  std::string in_function{};
  std::string why{};   // Why it stays.
  std::string page{};  // The section of docs/translate.md that says what to do.
  std::vector<std::string> variables{};
  edit change{};
  std::string operation{};  // Of a reduction that MPI knows; calls that meet have the same.
  std::string datatype{};   // Likewise.
  std::optional<unsigned> world_at{};  // It uses the world that is defined at this offset.
  bool begins_or_ends = false;         // MPI_Init, MPI_Finalize: stays where anything of MPI stays.
  bool has_peer_to_convert = false;    // One that cannot be converted in place.
};

// Variables that are declared together, with one name of a type before them.
struct declaration {
  struct declarator {
    std::string variable;
    unsigned begin = 0;
    unsigned end = 0;
  };
  unsigned begin = 0;  // Of the whole, with storage class.
  unsigned type_begin = 0;
  unsigned type_end = 0;
  unsigned end = 0;  // Before the semicolon.
  std::vector<declarator> all{};
};

struct source {
  std::string text;
  bool is_c = false;
  bool given = false;  // Named by the user; else a header.
  std::vector<edit> edits{};
  std::vector<declaration> declarations{};
  std::string world_name = "world";  // Of the communicator of all ranks, in functions that use it.
  std::map<unsigned, std::string> world_indents{};  // By offset: what a line there begins with.
  std::vector<std::pair<unsigned, unsigned>> mpi_includes{};
  std::optional<unsigned> first_include{};
  std::set<std::string> headers{};  // That new text needs, besides weft's.
};

// A variable that ranks would share in a process without private images.
struct global_state {
  std::string name;
  std::string type;
  place at;
};

// A loop, and what keeps waiting ranks from taking parts of it.
struct loop {
  place at;
  std::string function;
  std::vector<std::string> against{};  // Reasons that nobody can confirm away.
  std::vector<std::string> doubts{};   // What the user may know better.
  std::vector<std::string> notes{};
  bool has_pragma = false;
  bool chosen = false;
  bool inside_another = false;  // Of one that can be shared, too.
  std::vector<edit> change{};
  std::string cannot_rewrite{};
};

// A call of one of the program's functions by another.
struct own_call {
  std::string caller;
  std::string callee;
  place at;
};

struct program {
  std::map<std::string, source> files;
  std::map<std::string, variable> variables;  // By key.
  std::map<std::string, call> calls;          // By file and offset.
  std::vector<global_state> globals;
  std::map<std::string, loop> loops;  // By file and offset.
  std::vector<own_call> own_calls;
  std::string all_stay{};  // Why everything stays.
  bool mentions_proc_null =
      false;  // Elsewhere than as an argument that is translated where it stands.
  bool mentions_any_tag = false;
  bool mentions_undefined = false;

  // Set by decide().
  bool is_without_mpi = false;
  bool has_own_numbers = false;
  bool has_own_colors = false;
  bool becomes_cpp = false;  // A C source changes, and so all of them become C++.
};

inline std::string key_at(std::string_view file, unsigned offset) {
  return std::string(file) + ":" + std::to_string(offset);
}

// Which calls and variables are translated.
void decide(program& p);
// The new text of a file.
[[nodiscard]] std::string rewritten(const program& p, const std::string& file);
// A unified difference; empty when there is none.
[[nodiscard]] std::string difference(const std::string& old_name, const std::string& old_text,
                                     const std::string& new_name, const std::string& new_text);

// Of the loops before the place to which, in a breakdown.json, most computation leads: "FILE:LINE". Says so on stderr.
[[nodiscard]] std::set<std::string> loops_of_breakdown(const program& p,
                                                       const std::string& breakdown);

// What the user has asked for.
struct request {
  std::vector<std::string> sources;
  std::string database;               // Directory of compile_commands.json, or empty.
  std::vector<std::string> words;     // Of the compiler.
  std::vector<std::string> includes;  // weft's directories of headers.
  bool tasks = false;
  std::vector<std::pair<std::string, unsigned>> chosen_loops;  // File and line.
};

// Reads all sources; false when one does not compile, which the compiler has then told.
[[nodiscard]] bool read(const request& what, program& into);
// Whether what was written compiles, as C++; the compiler tells what does not.
[[nodiscard]] bool compiles(const request& what, const std::map<std::string, std::string>& texts,
                            const std::map<std::string, std::string>& written_as);

}  // namespace weft::translate
