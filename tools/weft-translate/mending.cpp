// C that C++ does not take: conversions of untyped addresses, of numbers to enumerations, of texts to char*, and a few
// words. What else differs the compiler tells when it reads the result.
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <cctype>
#include <map>
#include <set>

#include "weft-translate/analysis.hpp"

namespace weft::translate {

using namespace clang;

namespace {

void add_to(source& file, unsigned at, const std::string& text) {
  for (const edit& known : file.edits)
    if (known.begin == at && known.end == at && known.out.size() == 1 && known.out[0].text == text)
      return;
  file.edits.push_back({at, at, {{.text = text}}});
}

class mending : public RecursiveASTVisitor<mending> {
 public:
  explicit mending(reading& r) : r_(r) {}

  bool VisitImplicitCastExpr(ImplicitCastExpr* e) {
    const Expr* from = e->getSubExpr();
    const QualType to = e->getType();
    switch (e->getCastKind()) {
      case CK_BitCast:
        if (from->getType()->isVoidPointerType() && to->isAnyPointerType() &&
            !to->isVoidPointerType())
          convert(from, to);
        break;
      case CK_IntegralCast:
        if (const auto* constant = dyn_cast<DeclRefExpr>(bare(from));
            to->isEnumeralType() &&
            (constant == nullptr || !isa<EnumConstantDecl>(constant->getDecl())))
          convert(from, to);
        break;
      case CK_ArrayToPointerDecay:
        if (isa<StringLiteral>(from->IgnoreParens()) && !is_only_read(e)) convert(from, to);
        if (const auto* literal = dyn_cast<CompoundLiteralExpr>(from->IgnoreParens());
            literal != nullptr)
          name_list(e, literal);
        break;
      default:
        break;
    }
    return true;
  }

  // In C a character is an int.
  bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* e) {
    if (e->getKind() == UETT_SizeOf && !e->isArgumentType())
      if (const auto* literal = dyn_cast<CharacterLiteral>(bare(e->getArgumentExpr())))
        if (const auto where = r_.stretch_of(literal->getSourceRange())) {
          add(where->file, where->begin, "((int)");
          add(where->file, where->end, ")");
        }
    return true;
  }

 private:
  [[nodiscard]] bool is_only_read(const Expr* e) const {
    const auto parents = r_.context().getParents(*e);
    if (parents.empty()) return true;
    if (const auto* chosen = parents[0].get<ConditionalOperator>()) return is_only_read(chosen);
    if (const auto* inside = parents[0].get<ParenExpr>()) return is_only_read(inside);
    const auto* assigned = parents[0].get<BinaryOperator>();
    return parents[0].get<CallExpr>() == nullptr && parents[0].get<VarDecl>() == nullptr &&
           parents[0].get<ReturnStmt>() == nullptr && parents[0].get<InitListExpr>() == nullptr &&
           (assigned == nullptr || !assigned->isAssignmentOp());
  }

  // (int[]){a, b} that a function is given to read.
  void name_list(const ImplicitCastExpr* e, const CompoundLiteralExpr* literal) {
    const auto parents = r_.context().getParents(*e);
    const auto* made_constant = parents.empty() ? nullptr : parents[0].get<ImplicitCastExpr>();
    if (made_constant == nullptr || !made_constant->getType()->getPointeeType().isConstQualified())
      return;
    const auto list = r_.stretch_of(literal->getInitializer()->getSourceRange());
    const auto whole = r_.stretch_of(literal->getSourceRange());
    if (!list || !whole || list->file != whole->file) return;
    const QualType element = literal->getType()->getAsArrayTypeUnsafe()->getElementType();
    source& file = r_.file_of(whole->file);
    const std::string type =
        "std::initializer_list<" +
        element.getUnqualifiedType().getAsString(r_.context().getPrintingPolicy()) + ">";
    for (const edit& known : file.edits)
      if (known.begin == whole->begin && known.end == list->begin) return;
    file.edits.push_back({whole->begin, list->begin, {{.text = type}}});
    add(whole->file, list->end, ".begin()");
    file.headers.insert("initializer_list");
  }

  void convert(const Expr* e, QualType to) {
    if (e->getBeginLoc().isMacroID() && !r_.stretch_of(e->getSourceRange())) return;
    const auto where = r_.stretch_of(e->getSourceRange());
    if (!where) return;
    const Expr* inner = e->IgnoreImpCasts();
    const bool is_one = isa<CallExpr, DeclRefExpr, ParenExpr, MemberExpr, IntegerLiteral,
                            ArraySubscriptExpr, StringLiteral>(inner);
    add(where->file, where->begin,
        "(" + to.getUnqualifiedType().getAsString(r_.context().getPrintingPolicy()) + ")" +
            (is_one ? "" : "("));
    if (!is_one) add(where->file, where->end, ")");
  }
  void add(const std::string& file, unsigned at, const std::string& text) {
    add_to(r_.file_of(file), at, text);
  }

  reading& r_;
};

// Whether the line at this place names a header.
bool names_header(const std::string& text, std::size_t at) {
  std::size_t begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::string words;
  for (std::size_t i = begin; i < at; ++i)
    if (std::isspace(static_cast<unsigned char>(text[i])) == 0) words += text[i];
  return words.starts_with("#include");
}

}  // namespace

void mend_c(reading& r) {
  mending m(r);
  for (Decl* each : r.context().getTranslationUnitDecl()->decls())
    if (!r.own_file(each->getLocation()).empty()) m.TraverseDecl(each);
  // Words that C++ has in another form.
  static const std::map<std::string, std::string> words = {{"register", ""},
                                                           {"restrict", "__restrict"},
                                                           {"_Bool", "bool"},
                                                           {"_Static_assert", "static_assert"},
                                                           {"_Noreturn", "[[noreturn]]"}};
  // Names in C. Those that a header of C defines as macros, such as `and` and `bool`, are not among them.
  static const std::set<std::string> taken = {
      "catch",    "class",    "const_cast", "constexpr", "decltype",  "delete",   "dynamic_cast",
      "export",   "explicit", "friend",     "mutable",   "namespace", "new",      "noexcept",
      "operator", "private",  "protected",  "public",    "requires",  "template", "this",
      "throw",    "try",      "typeid",     "typename",  "using",     "virtual"};
  for (auto& [name, file] : r.into().files) {
    // A file for both languages means the words of C++.
    const bool is_for_both = file.text.find("__cplusplus") != std::string::npos;
    Lexer lexer(SourceLocation(), r.context().getLangOpts(), file.text.data(), file.text.data(),
                file.text.data() + file.text.size());
    Token token;
    for (lexer.LexFromRawLexer(token); !token.is(tok::eof); lexer.LexFromRawLexer(token)) {
      // "%d"NAME: C++ takes a name that touches a text for a part of it.
      const auto place_of_token = static_cast<unsigned>(lexer.getCurrentBufferOffset());
      const bool is_text = token.is(tok::string_literal);
      const char next = place_of_token < file.text.size() ? file.text[place_of_token] : ' ';
      if (is_text && (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '_'))
        add_to(file, place_of_token, " ");
      if (!token.is(tok::raw_identifier)) continue;
      const std::string word = token.getRawIdentifier().str();
      const auto found = words.find(word);
      const auto at = static_cast<unsigned>(token.getRawIdentifier().data() - file.text.data());
      const bool is_taken = taken.contains(word) && !is_for_both && !names_header(file.text, at);
      if (found == words.end() && !is_taken) continue;
      bool is_known = false;
      for (const edit& e : file.edits)
        is_known |= e.begin == at && e.end > at && e.when == condition::always;
      if (!is_known)
        file.edits.push_back({at,
                              at + static_cast<unsigned>(word.size()),
                              {{.text = is_taken ? word + "_" : found->second}}});
    }
  }
}

}  // namespace weft::translate
