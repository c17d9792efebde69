// Runs the compiler over sources: to read them, and to see whether what was made of them compiles.
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "weft-translate/analysis.hpp"
#include "weft/error.hpp"

namespace weft::translate {

using namespace clang;

namespace {

// Where a file includes others.
class inclusions : public PPCallbacks {
 public:
  inclusions(const SourceManager& sources, program& into) : sources_(sources), into_(into) {}

  void InclusionDirective(SourceLocation hash, const Token&, StringRef name, bool,
                          CharSourceRange written, OptionalFileEntryRef, StringRef, StringRef,
                          const Module*, bool, SrcMgr::CharacteristicKind) override {
    const auto [file, begin] = sources_.getDecomposedLoc(hash);
    const auto entry = sources_.getFileEntryRefForID(file);
    if (!entry) return;
    found_.push_back({entry->getFileEntry().tryGetRealPathName().str(), begin,
                      sources_.getDecomposedLoc(written.getEnd()).second, depth_ == 0,
                      name == "mpi.h"});
  }
  void If(SourceLocation, SourceRange, ConditionValueKind) override { ++depth_; }
  void Ifdef(SourceLocation, const Token&, const MacroDefinition&) override { ++depth_; }
  void Ifndef(SourceLocation, const Token&, const MacroDefinition&) override { ++depth_; }
  void Endif(SourceLocation, SourceLocation) override { --depth_; }

  struct inclusion {
    std::string file;
    unsigned begin;
    unsigned end;
    bool always;
    bool is_mpi;
  };
  [[nodiscard]] const std::vector<inclusion>& found() const noexcept { return found_; }

 private:
  const SourceManager& sources_;
  program& into_;
  std::vector<inclusion> found_{};
  int depth_ = 0;
};

class reader : public ASTConsumer {
 public:
  reader(CompilerInstance& compiler, const request& what, program& into,
         const std::vector<std::string>& roots)
      : compiler_(compiler), what_(what), into_(into), roots_(roots) {
    auto callbacks = std::make_unique<inclusions>(compiler.getSourceManager(), into);
    inclusions_ = callbacks.get();
    compiler.getPreprocessor().addPPCallbacks(std::move(callbacks));
  }

  void HandleTranslationUnit(ASTContext& context) override {
    if (compiler_.getDiagnostics().hasErrorOccurred()) return;
    reading r(context, into_, roots_, what_.includes);
    const FileID main = context.getSourceManager().getMainFileID();
    const std::string name = r.own_file(context.getSourceManager().getLocForStartOfFile(main));
    if (name.empty()) return;
    source& file = into_.files.at(name);
    file.given = true;
    file.is_c = !context.getLangOpts().CPlusPlus;
    read_calls(r);
    if (file.is_c) mend_c(r);
    if (what_.tasks) read_loops(r, what_);
    for (const auto& each : inclusions_->found()) {
      const auto own = into_.files.find(each.file);
      if (own == into_.files.end()) continue;
      source& of = own->second;
      if (each.always && (!of.first_include || each.begin < *of.first_include))
        of.first_include = each.begin;
      const std::pair<unsigned, unsigned> where{each.begin, each.end};
      if (each.is_mpi &&
          std::find(of.mpi_includes.begin(), of.mpi_includes.end(), where) == of.mpi_includes.end())
        of.mpi_includes.push_back(where);
    }
  }

 private:
  CompilerInstance& compiler_;
  const request& what_;
  program& into_;
  const std::vector<std::string>& roots_;
  inclusions* inclusions_ = nullptr;
};

class reading_action : public ASTFrontendAction {
 public:
  reading_action(const request& what, program& into, const std::vector<std::string>& roots)
      : what_(what), into_(into), roots_(roots) {}
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override {
    return std::make_unique<reader>(compiler, what_, into_, roots_);
  }

 private:
  const request& what_;
  program& into_;
  const std::vector<std::string>& roots_;
};

class reading_factory : public tooling::FrontendActionFactory {
 public:
  reading_factory(const request& what, program& into, const std::vector<std::string>& roots)
      : what_(what), into_(into), roots_(roots) {}
  std::unique_ptr<FrontendAction> create() override {
    return std::make_unique<reading_action>(what_, into_, roots_);
  }

 private:
  const request& what_;
  program& into_;
  const std::vector<std::string>& roots_;
};

std::unique_ptr<tooling::CompilationDatabase> commands_of(const request& what) {
  if (what.database.empty())
    return std::make_unique<tooling::FixedCompilationDatabase>(
        std::filesystem::current_path().string(), what.words);
  std::string why;
  auto database = tooling::CompilationDatabase::loadFromDirectory(what.database, why);
  if (database == nullptr)
    throw error("no compile commands in " + what.database +
                ": give a directory with compile_commands.json, or the compiler's words behind --");
  return database;
}

// weft's mpi.h before any other, the compiler's own headers, and no warnings: those are for who compiles.
tooling::CommandLineArguments with_weft(const request& what,
                                        const tooling::CommandLineArguments& words) {
  tooling::CommandLineArguments all{words.front()};
  for (const std::string& each : what.includes) all.push_back("-I" + each);
  all.insert(all.end(), words.begin() + 1, words.end());
  all.insert(all.begin() + 1, {"-w", "-resource-dir", WEFT_CLANG_RESOURCES});
  return all;
}

}  // namespace

bool read(const request& what, program& into) {
  std::vector<std::string> roots;
  for (const std::string& each : what.sources) {
    const auto path = std::filesystem::canonical(each);
    roots.push_back(path.parent_path().string() + "/");
    // What one source says is known before the first is read.
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    into.mentions_undefined |= text.str().find("MPI_UNDEFINED") != std::string::npos;
  }
  const auto commands = commands_of(what);
  bool all_do = true;
  for (const std::string& each : what.sources) {
    tooling::ClangTool tool(*commands, {each});
    tool.setPrintErrorMessage(false);
    tool.appendArgumentsAdjuster([&](const tooling::CommandLineArguments& words, StringRef) {
      return with_weft(what, words);
    });
    reading_factory factory(what, into, roots);
    all_do &= tool.run(&factory) == 0;
  }
  return all_do;
}

bool compiles(const request& what, const std::map<std::string, std::string>& texts,
              const std::map<std::string, std::string>& written_as) {
  const auto commands = commands_of(what);
  bool all_do = true;
  for (const auto& [name, as] : written_as) {
    auto found = commands->getCompileCommands(name);
    if (found.empty()) continue;
    std::vector<std::string> words;
    std::string directory = found.front().Directory;
    for (std::size_t i = 1; i < found.front().CommandLine.size(); ++i) {
      const std::string& word = found.front().CommandLine[i];
      if (std::filesystem::path(word).filename() == std::filesystem::path(name).filename())
        continue;
      if (word == "--" || word.starts_with("-std=")) continue;
      words.push_back(word);
    }
    words.insert(words.end(), {"-x", "c++", "-std=gnu++20"});
    const tooling::FixedCompilationDatabase as_cpp(directory, words);
    tooling::ClangTool tool(as_cpp, {as});
    tool.setPrintErrorMessage(false);
    for (const auto& [file, text] : texts) tool.mapVirtualFile(file, text);
    tool.appendArgumentsAdjuster(
        [&](const tooling::CommandLineArguments& all, StringRef) { return with_weft(what, all); });
    all_do &= tool.run(tooling::newFrontendActionFactory<SyntaxOnlyAction>().get()) == 0;
  }
  return all_do;
}

}  // namespace weft::translate
