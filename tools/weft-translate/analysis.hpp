// What the parts of the analysis share: offsets in files, and expressions as the program has written them.
#pragma once
#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <optional>
#include <string>

#include "weft-translate/program.hpp"

namespace weft::translate {

// Text of a file.
struct stretch {
  std::string file;
  unsigned begin = 0;
  unsigned end = 0;
};

// One source being read.
class reading {
 public:
  // Files of the program lie in `roots`; none is in `others`.
  reading(clang::ASTContext& context, program& into, const std::vector<std::string>& roots,
          const std::vector<std::string>& others)
      : context_(context), into_(into), roots_(roots), others_(others) {}

  [[nodiscard]] clang::ASTContext& context() const noexcept { return context_; }
  [[nodiscard]] const clang::SourceManager& sources() const { return context_.getSourceManager(); }
  [[nodiscard]] program& into() const noexcept { return into_; }

  // The file that a place in a file, or a macro's use, lies in; empty for what is none of the program's own files.
  [[nodiscard]] std::string own_file(clang::SourceLocation at);
  [[nodiscard]] source& file_of(const std::string& name) { return into_.files.at(name); }
  [[nodiscard]] place place_of(clang::SourceLocation at);
  // Nothing where a macro has a part in it that cannot be told apart.
  [[nodiscard]] std::optional<stretch> stretch_of(clang::SourceRange range);
  [[nodiscard]] std::string text_of(clang::SourceRange range);
  // Of a constant that a macro of mpi.h stands for: its name. Otherwise empty.
  [[nodiscard]] std::string constant_name(const clang::Expr* e) const;
  // Whether it may be evaluated twice, or not at all.
  [[nodiscard]] bool is_pure(const clang::Expr* e) const;

 private:
  clang::ASTContext& context_;
  program& into_;
  const std::vector<std::string>& roots_;
  const std::vector<std::string>& others_;
  std::map<unsigned, std::string> names_{};  // Of files, by their hash in the compiler.
};

[[nodiscard]] std::string mpi_name(const clang::FunctionDecl* f);
// An expression without parentheses and conversions that nobody wrote.
[[nodiscard]] inline const clang::Expr* bare(const clang::Expr* e) {
  return e->IgnoreParenImpCasts();
}

// Calls of MPI, and variables of its types.
void read_calls(reading& r);
// What the loops of a file allow.
void read_loops(reading& r, const request& what);
// Where C++ wants to be told what C takes for granted.
void mend_c(reading& r);

}  // namespace weft::translate
