// weft-translate: from the calls of MPI in a C or C++ program to weft's C++ interface.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "breakdown/json.hpp"
#include "weft-translate/program.hpp"
#include "weft/error.hpp"

namespace {

namespace fs = std::filesystem;
using namespace weft::translate;

constexpr const char* description =
    "Translates programs of MPI in C and C++ to weft's C++ interface. What it prints by default is a difference; what it\n"
    "does not understand stays MPI, which works beside, and is listed with the reason.";
constexpr const char* examples =
    "Words behind -- are the compiler's.\n"
    "\n"
    "Examples:\n"
    "  weft-translate heat.c                       the difference, and a list of what stays\n"
    "  weft-translate --in-place solver.cpp -- -std=c++17 -Iinclude\n"
    "  weft-translate -p build src/*.cpp           commands of build/compile_commands.json\n"
    "  weft-translate --tasks heat.c               which loops waiting ranks could take a part of\n"
    "  weft-translate --tasks --loop heat.c:71 --in-place heat.c\n"
    "  weft-translate --tasks --from breakdown.json heat.c\n"
    "\n"
    "What comes out is C++20, of C sources too: it is compiled by weftcxx -std=c++20.";

struct words {
  request what;
  bool in_place = false;
  bool diff = false;
  std::string out;
  std::string from;
  std::vector<std::string> loops;
};

// Where the headers of weft are: beside the program when it is installed, else where it was built from.
std::vector<std::string> directories_of_headers() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  fs::path include = program.parent_path().parent_path() / "include";
  if (failed || !fs::exists(include / "mpi" / "mpi.h")) include = WEFT_HEADERS;
  if (!fs::exists(include / "mpi" / "mpi.h"))
    throw weft::error("weft's headers are neither in " +
                      (program.parent_path().parent_path() / "include").string() + " nor in " +
                      std::string(WEFT_HEADERS) + ": install weft as a whole");
  return {(include / "mpi").string(), include.string()};
}

std::string read_text(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw weft::error(name + " cannot be read: give a source that is there");
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& name, const std::string& text) {
  const std::string beside = name + ".weft-translate";
  {
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw weft::error(beside + " cannot be written: nothing has been changed there");
  }
  std::error_code failed;
  if (fs::exists(name)) fs::permissions(beside, fs::status(name).permissions(), failed);
  fs::rename(beside, name, failed);
  if (failed) throw weft::error(name + " cannot be written: " + failed.message());
}

// "heat.c:71"
std::pair<std::string, unsigned> line_named(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  unsigned line = 0;
  if (colon != std::string::npos)
    for (std::size_t i = colon + 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      line = line * 10 + static_cast<unsigned>(text[i] - '0');
  if (line == 0) throw weft::error("--loop " + text + ": give FILE:LINE, of the loop's first line");
  return {text.substr(0, colon), line};
}

std::string shown(const std::string& file) {
  std::error_code failed;
  const fs::path relative = fs::relative(file, failed);
  return failed || relative.empty() || relative.native().starts_with("../..") ? file
                                                                              : relative.string();
}

void tell(const std::string& line) {
  std::fputs((line + "\n").c_str(), stderr);
}

std::string new_name(const program& p, const std::string& file) {
  if (!p.files.at(file).is_c || !p.files.at(file).given) return file;
  return fs::path(file).replace_extension(".cpp").string();
}

void tell_calls(const program& p) {
  std::size_t done = 0, all = 0;
  std::vector<const call*> staying;
  for (const auto& [key, c] : p.calls) {
    ++all;
    if (c.why.empty())
      ++done;
    else
      staying.push_back(&c);
  }
  std::sort(staying.begin(), staying.end(), [](const call* a, const call* b) {
    return a->at.file != b->at.file ? a->at.file < b->at.file : a->at.line < b->at.line;
  });
  for (const call* c : staying)
    tell(weft::formatted("{}:{}: {} stays: {} (docs/translate.md#{})", shown(c->at.file),
                         c->at.line, c->function, c->why, c->page));
  tell(weft::formatted("weft-translate: {} of {} calls of MPI translated{}", done, all,
                       p.is_without_mpi ? "; nothing of MPI is left" : ""));
}

void tell_globals(const program& p) {
  for (const global_state& g : p.globals)
    tell(weft::formatted(
        "{}:{}: {} ({}) is state of the process: each rank's own under weftcxx, shared under weft::run() "
        "(docs/translate.md#state)",
        shown(g.at.file), g.at.line, g.name, g.type));
}

void tell_loops(const program& p, const std::set<std::string>& named) {
  std::vector<const loop*> loops;
  for (const auto& [key, l] : p.loops) loops.push_back(&l);
  std::sort(loops.begin(), loops.end(), [](const loop* a, const loop* b) {
    return a->at.file != b->at.file ? a->at.file < b->at.file : a->at.line < b->at.line;
  });
  for (const loop* each : loops) {
    const loop& l = *each;
    std::string line =
        weft::formatted("{}:{}: the loop in {}", shown(l.at.file), l.at.line, l.function);
    const bool is_named = named.contains(weft::formatted("{}:{}", l.at.file, l.at.line));
    if (!named.empty() && !is_named) continue;
    if (l.chosen) {
      tell(line + " is shared with ranks that wait");
    } else if (!l.against.empty()) {
      for (const std::string& why : l.against) tell(line + " cannot be shared: " + why);
    } else if (!l.cannot_rewrite.empty()) {
      tell(line + " could be shared, but is not rewritten: " + l.cannot_rewrite);
    } else if (!l.doubts.empty()) {
      for (const std::string& why : l.doubts) tell(line + " is not proven to be sharable: " + why);
      tell(weft::formatted("  if that does not matter: --loop {}:{}", shown(l.at.file), l.at.line));
    } else {
      tell(weft::formatted(
          "{} can be shared with ranks that wait: --loop {}:{}{}", line, shown(l.at.file),
          l.at.line, l.inside_another ? " (it is inside one that can be shared as a whole)" : ""));
    }
    for (const std::string& note : l.notes) tell("  " + note);
  }
}

void write_all(const program& p, const words& w, const std::map<std::string, std::string>& texts) {
  std::map<std::string, std::string> to;
  for (const auto& [file, text] : texts) {
    std::string name = new_name(p, file);
    if (!w.out.empty()) name = (fs::path(w.out) / fs::path(name).filename()).string();
    if (fs::exists(name) && (!w.out.empty() || name != file))
      throw weft::error(name + " is there already: move it away; nothing has been written");
    to[name] = text;
  }
  if (!w.out.empty()) fs::create_directories(w.out);
  for (const auto& [name, text] : to) {
    write_text(name, text);
    tell("weft-translate: wrote " + shown(name));
  }
}

int translate(words& w) {
  w.what.includes = directories_of_headers();
  for (std::string& each : w.what.sources) {
    static_cast<void>(read_text(each));
    each = fs::canonical(each).string();
  }
  std::set<std::string> named;
  for (const std::string& each : w.loops) w.what.chosen_loops.push_back(line_named(each));
  for (auto& [file, line] : w.what.chosen_loops)
    if (fs::exists(file)) file = fs::canonical(file).string();
  program p;
  if (!read(w.what, p)) {
    tell("weft-translate: the compiler does not take the source; nothing has been written");
    return 1;
  }
  decide(p);
  if (!w.from.empty()) named = loops_of_breakdown(p, w.from);
  std::map<std::string, std::string> texts, names;
  for (const auto& [file, of] : p.files) {
    const std::string text = rewritten(p, file);
    if (text == of.text && !(p.becomes_cpp && of.is_c && of.given)) continue;
    texts[file] = text;
  }
  std::map<std::string, std::string> checked;
  if (texts.empty()) tell("weft-translate: nothing is changed");
  for (const auto& [file, text] : texts) checked[new_name(p, file)] = text;
  for (const auto& [file, of] : p.files)
    if (of.given && texts.contains(file)) names[file] = new_name(p, file);
  const bool does = compiles(w.what, checked, names);
  if (w.diff || (!w.in_place && w.out.empty()))
    for (const auto& [file, text] : texts)
      std::fputs(
          difference(shown(file), p.files.at(file).text, shown(new_name(p, file)), text).c_str(),
          stdout);
  tell_calls(p);
  tell_globals(p);
  if (w.what.tasks) tell_loops(p, named);
  if (!does) {
    tell(
        "weft-translate: what came out does not compile as C++20, as said above; nothing has been written "
        "(docs/translate.md#c-sources)");
    return 1;
  }
  if (w.in_place || !w.out.empty()) write_all(p, w, texts);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  words w;
  // The compiler's words are none of CLI11's.
  int own = argc;
  for (int i = 1; i < argc && own == argc; ++i)
    if (std::string_view(argv[i]) == "--") own = i;
  for (int i = own + 1; i < argc; ++i) w.what.words.emplace_back(argv[i]);
  CLI::App app(description, "weft-translate");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.footer(examples);
  app.add_option("FILE", w.what.sources,
                 "sources of the program: all that share its communicators and requests")
      ->required();
  app.add_option("-p,--database", w.what.database, "directory of compile_commands.json");
  app.add_flag("--diff", w.diff, "print the difference (the default)");
  app.add_flag("--in-place", w.in_place, "write: C++ into the same file, of FILE.c a new FILE.cpp");
  app.add_option("--out", w.out, "write into this directory instead");
  app.add_flag(
      "--tasks", w.what.tasks,
      "tell which loops ranks that wait could take parts of; rewrite those that a pragma marks");
  app.add_option("--loop", w.loops, "FILE:LINE: with --tasks, rewrite this loop, too");
  app.add_option(
      "--from", w.from,
      "with --tasks, tell of the loop before which most time was waited for, in this breakdown.json");
  try {
    app.parse(own, argv);
    if ((!w.loops.empty() || !w.from.empty()) && !w.what.tasks)
      throw weft::error("--loop and --from are about loops: give --tasks, too");
    if (!w.what.database.empty() && !w.what.words.empty())
      throw weft::error("both -p and words behind --: give the compiler's words once");
    return translate(w);
  } catch (const CLI::Success& shown) {
    return app.exit(shown);
  } catch (const CLI::ParseError& failure) {
    std::fprintf(stderr, "weft-translate: %s; weft-translate --help says more\n", failure.what());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "weft-translate: %s\n", failure.what());
  }
  return 2;
}
