#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/format.hpp"
#include "breakdown/analysis.hpp"
#include "breakdown/files.hpp"
#include "breakdown/measured.hpp"
#include "breakdown/record.hpp"
#include "breakdown/report.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {

void write_breakdown_report(const breakdown_request& request) {
  breakdown::record all = breakdown::read_record(request.file);
  all.find_places();
  breakdown::summary s = breakdown::summarise(all);
  if (!request.events.empty()) s.run = breakdown::read_run_summary(request.events, all);
  std::string message;
  if (!request.of_message.empty()) {
    // Written anew, so that what is in the page is what has been read.
    message = breakdown::json_of(
        breakdown::read_measured(text_of_file(request.of_message), request.of_message));
    if (request.page.empty()) throw error("--message is for a page: name one with --page");
  }
  const std::string text = request.calls ? breakdown::calls_csv_of(all, s)
                           : request.csv ? breakdown::csv_of(s)
                                         : breakdown::text_of(s);
  std::fputs(text.c_str(), stdout);
  if (!request.page.empty()) {
    const std::string share = breakdown::share_directory(WEFT_SHARE);
    breakdown::write_file(
        request.page,
        breakdown::page_of(breakdown::json_of(s), breakdown::plot_library(share), message));
    std::fprintf(stderr, "the page: %s\n", request.page.c_str());
  }
  if (!request.png.empty()) plot("report", breakdown::csv_of(s), request.png);
}

void plot(const std::string& kind, const std::string& csv, const std::string& png) {
  breakdown::check_writable(png);
  std::error_code failed;
  std::string name =
      (std::filesystem::temp_directory_path(failed) / "weft-breakdown-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw error(formatted("cannot write {}: {}", name, std::strerror(errno)));
  ::close(file);
  const struct remover {
    const std::string& path;
    ~remover() { ::unlink(path.c_str()); }
  } removed{name};
  breakdown::write_file(name, csv);
  std::string script = breakdown::share_directory(WEFT_SHARE) + "/plot_breakdown.py";
  std::string python = "/usr/bin/python3", kind_word = kind, png_word = png;
  char* words[] = {python.data(), script.data(),   kind_word.data(),
                   name.data(),   png_word.data(), nullptr};
  pid_t child = 0;
  if (const int reason = ::posix_spawn(&child, python.c_str(), nullptr, nullptr, words, environ);
      reason != 0)
    throw error(formatted("--png needs {}: {}", python, std::strerror(reason)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw error(formatted("{} was not drawn; see the line above", png));
}

}  // namespace weft
