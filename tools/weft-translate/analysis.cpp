// Reads a source by the compiler's eyes: every call of MPI, with its new text, and every variable of one of MPI's types with
// all that the program does with it. What is not understood is a reason to leave it.

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <set>

#include "base/format.hpp"
#include "weft-translate/calls.hpp"

namespace weft::translate {

using namespace clang;

std::string mpi_name(const FunctionDecl* f) {
  if (f == nullptr || f->getIdentifier() == nullptr) return {};
  const llvm::StringRef name = f->getName();
  if (!name.starts_with("MPI_") && !name.starts_with("PMPI_")) return {};
  return name.str();
}

std::string reading::own_file(SourceLocation at) {
  if (at.isInvalid()) return {};
  at = sources().getExpansionLoc(at);
  if (sources().isInSystemHeader(at)) return {};
  const FileID id = sources().getFileID(at);
  const auto found = names_.find(id.getHashValue());
  if (found != names_.end()) return found->second;
  std::string name;
  if (const auto entry = sources().getFileEntryRefForID(id)) {
    name = entry->getFileEntry().tryGetRealPathName().str();
    bool is_own = false;
    for (const std::string& root : roots_) is_own |= name.starts_with(root);
    for (const std::string& other : others_)
      for (const char* of_weft : {"/weft/", "/mpi/", "/mpi.h"})
        is_own &= !name.starts_with(other + of_weft);
    if (!is_own) name.clear();
  }
  if (!name.empty() && !into_.files.contains(name)) {
    source file;
    file.text = sources().getBufferData(id).str();
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (std::size_t i = file.text.find("world"); i != std::string::npos;
         i = file.text.find("world", i + 1))
      if ((i == 0 || !is_word(file.text[i - 1])) &&
          (i + 5 == file.text.size() || !is_word(file.text[i + 5])))
        file.world_name = "weft_world";
    into_.files.emplace(name, std::move(file));
  }
  names_.emplace(id.getHashValue(), name);
  return name;
}

place reading::place_of(SourceLocation at) {
  at = sources().getExpansionLoc(at);
  const PresumedLoc where = sources().getPresumedLoc(at, false);
  return {own_file(at), where.isValid() ? where.getLine() : 0};
}

std::optional<stretch> reading::stretch_of(SourceRange range) {
  const CharSourceRange chars = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(range),
                                                         sources(), context_.getLangOpts());
  if (chars.isInvalid()) return {};
  const auto [file, begin] = sources().getDecomposedLoc(chars.getBegin());
  const auto [end_file, end] = sources().getDecomposedLoc(chars.getEnd());
  if (file != end_file) return {};
  const std::string name = own_file(chars.getBegin());
  if (name.empty()) return {};
  return stretch{name, begin, end};
}

std::string reading::text_of(SourceRange range) {
  const auto where = stretch_of(range);
  if (!where) return {};
  return into_.files.at(where->file).text.substr(where->begin, where->end - where->begin);
}

std::string reading::constant_name(const Expr* e) const {
  e = bare(e);
  if (const auto* ref = dyn_cast<DeclRefExpr>(e))
    if (const auto* constant = dyn_cast<EnumConstantDecl>(ref->getDecl()))
      return constant->getName().starts_with("MPI_") ? constant->getName().str() : std::string();
  const auto* cast = dyn_cast<ExplicitCastExpr>(e);
  if (cast == nullptr) return {};
  const auto* literal = dyn_cast<IntegerLiteral>(bare(cast->getSubExpr()));
  if (literal == nullptr || !literal->getBeginLoc().isMacroID()) return {};
  const std::string name =
      Lexer::getImmediateMacroName(literal->getBeginLoc(), sources(), context_.getLangOpts()).str();
  return name.starts_with("MPI_") ? name : std::string();
}

bool reading::is_pure(const Expr* e) const {
  e = e->IgnoreParenCasts();
  if (isa<DeclRefExpr, IntegerLiteral, FloatingLiteral, CXXThisExpr, CharacterLiteral,
          CXXBoolLiteralExpr, UnaryExprOrTypeTraitExpr>(e))
    return true;
  if (const auto* member = dyn_cast<MemberExpr>(e)) return is_pure(member->getBase());
  if (const auto* unary = dyn_cast<UnaryOperator>(e))
    return !unary->isIncrementDecrementOp() && is_pure(unary->getSubExpr());
  if (const auto* binary = dyn_cast<BinaryOperator>(e))
    return !binary->isAssignmentOp() && is_pure(binary->getLHS()) && is_pure(binary->getRHS());
  if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e))
    return is_pure(subscript->getBase()) && is_pure(subscript->getIdx());
  if (const auto* chosen = dyn_cast<ConditionalOperator>(e))
    return is_pure(chosen->getCond()) && is_pure(chosen->getTrueExpr()) &&
           is_pure(chosen->getFalseExpr());
  if (const auto* member_call =
          dyn_cast<CXXMemberCallExpr>(e)) {  // size() and data() of containers.
    const auto* f = member_call->getMethodDecl();
    return f != nullptr && f->isConst() && f->getIdentifier() != nullptr &&
           (f->getName() == "size" || f->getName() == "data") &&
           is_pure(member_call->getImplicitObjectArgument());
  }
  if (const auto* in_class = dyn_cast<CXXOperatorCallExpr>(e))
    return in_class->getOperator() == OO_Subscript && is_pure(in_class->getArg(0)) &&
           is_pure(in_class->getArg(1));
  return false;
}

void analysis::run() {
  std::vector<Decl*> own;
  for (Decl* each : context_.getTranslationUnitDecl()->decls())
    if (!r_.own_file(each->getLocation()).empty()) own.push_back(each);
  context_.setTraversalScope(own);
  read_datatypes(own);
  struct member_reader : RecursiveASTVisitor<member_reader> {
    analysis* of = nullptr;
    bool VisitFieldDecl(FieldDecl* f) {
      of->add_member(f);
      return true;
    }
  } members;
  members.of = this;
  for (Decl* each : own) members.TraverseDecl(each);
  for (Decl* each : own) TraverseDecl(each);
  // What was done with a variable in a way that is not known here.
  for (const auto& [ref, key] : uses_)
    if (!understood_.contains(ref)) {
      variable& v = r_.into().variables.at(key);
      v.read = true;
      leave(v, formatted("line {} does something with it that is not understood",
                         r_.place_of(ref->getExprLoc()).line));
    }
  // An address that was given counted as a use; a value that is assigned does not.
  for (const auto& [declared, refs] : numbers_) {
    const auto* v = dyn_cast<VarDecl>(declared);
    if (v == nullptr || !v->isLocalVarDecl() || error_codes_.contains(declared)) continue;
    const auto is_assigned = [&](const DeclRefExpr* ref) { return assigned_.contains(ref); };
    const auto where = r_.stretch_of({v->getBeginLoc(), v->getBeginLoc()});
    if (where && std::all_of(refs.begin(), refs.end(), is_assigned))
      add_edit({where->file, where->begin, where->begin}, joined("[[maybe_unused]] "),
               condition::always);
  }
  for (const ValueDecl* declared : error_codes_) {
    variable& v = r_.into().variables.at(key_of(declared));
    for (const DeclRefExpr* ref : numbers_[declared]) v.read |= !understood_.contains(ref);
    const auto where = r_.stretch_of({declared->getBeginLoc(), declared->getBeginLoc()});
    if (!v.read && where)
      add_edit({where->file, where->begin, where->begin}, joined("[[maybe_unused]] "),
               condition::always);
  }
  for (const NamedDecl* each : std::as_const(parameters_of_main_)) take_name_away(each);
}

bool analysis::VisitVarDecl(VarDecl* v) {
  note_global(v);
  const auto kind = handle_kind(v->getType());
  if (!kind) return true;
  const std::string key = add_variable(v, *kind);
  if (key.empty()) return true;
  variable& known = r_.into().variables.at(key);
  if (const auto* parameter = dyn_cast<ParmVarDecl>(v)) {
    const auto* f = dyn_cast_or_null<FunctionDecl>(parameter->getDeclContext());
    if (f != nullptr && f->isThisDeclarationADefinition()) known.defined = true;
    if (f != nullptr && f->isMain()) leave(known, "it is a parameter of main()");
    if (parameter->hasDefaultArg()) leave(known, "it has a default");
    if (f != nullptr && isa<CXXMethodDecl>(f) && cast<CXXMethodDecl>(f)->isVirtual())
      leave(known, "it is a parameter of a virtual function");
    add_type(v, key);
  } else {
    if (v->isThisDeclarationADefinition() != VarDecl::DeclarationOnly) known.defined = true;
    add_to_declaration(v, key);
    if (v->hasInit()) begin_variable(v, key, *kind);
  }
  return true;
}

void analysis::add_member(FieldDecl* f) {
  const auto kind = handle_kind(f->getType());
  if (!kind) return;
  const std::string key = add_variable(f, *kind);
  if (key.empty()) return;
  variable& known = r_.into().variables.at(key);
  known.defined = true;
  const auto* of = dyn_cast<CXXRecordDecl>(f->getParent());
  if (of == nullptr || !of->hasDefinition() || !of->hasUserProvidedDefaultConstructor())
    leave(known, "it is a member of a structure, whose memory may not come from C++");
  add_to_declaration(f, key);
}

bool analysis::VisitFieldDecl(FieldDecl* f) {
  const std::string key = handle_kind(f->getType()) ? known_key(f) : std::string();
  if (!key.empty() && f->hasInClassInitializer() && f->getInClassInitializer() != nullptr)
    give(key, f->getInClassInitializer(), *handle_kind(f->getType()), false);
  return true;
}

bool analysis::VisitCXXConstructorDecl(CXXConstructorDecl* c) {
  for (const CXXCtorInitializer* each : c->inits()) {
    const FieldDecl* f = each->getAnyMember();
    if (f == nullptr || !each->isWritten() || !handle_kind(f->getType())) continue;
    if (const std::string key = known_key(f); !key.empty())
      give(key, each->getInit()->IgnoreImplicit(), *handle_kind(f->getType()), false);
  }
  return true;
}

bool analysis::VisitDeclRefExpr(DeclRefExpr* e) {
  const ValueDecl* d = e->getDecl();
  if (isa<EnumConstantDecl>(d)) return note_constant(e);
  if (!isa<VarDecl>(d)) return true;
  if (handle_kind(d->getType())) {
    if (const std::string key = known_key(d); !key.empty()) uses_.emplace(e, key);
  } else if (d->getType()->isIntegerType()) {
    numbers_[d].push_back(e);
  }
  return true;
}

bool analysis::VisitMemberExpr(MemberExpr* e) {
  const ValueDecl* d = e->getMemberDecl();
  if (isa<FieldDecl>(d) && handle_kind(d->getType()))
    if (const std::string key = known_key(d); !key.empty()) uses_.emplace(e, key);
  // status.MPI_SOURCE
  if (d->getIdentifier() == nullptr) return true;
  const llvm::StringRef name = d->getName();
  if (name != "MPI_SOURCE" && name != "MPI_TAG") return true;
  const auto used = variable_of(e->getBase());
  if (!used) return true;
  variable& v = r_.into().variables.at(used->key);
  v.read = true;
  const auto where = r_.stretch_of({e->getMemberLoc(), e->getMemberLoc()});
  if (!where) return true;
  understood_.insert(used->ref);
  add_edit(*where, joined(name == "MPI_SOURCE" ? "source" : "tag"), condition::variable, used->key);
  return true;
}

bool analysis::VisitBinaryOperator(BinaryOperator* b) {
  const auto left = handle_kind(b->getLHS()->getType());
  if (!left || (!b->isAssignmentOp() && !b->isEqualityOp())) return true;
  if (b->isAssignmentOp())
    assign(b->getLHS(), b->getRHS(), *left);
  else if (!compare(b, b->getLHS(), b->getRHS(), *left))
    static_cast<void>(compare(b, b->getRHS(), b->getLHS(), *left));
  return true;
}

bool analysis::VisitCXXMemberCallExpr(CXXMemberCallExpr* c) {
  const auto used = variable_of(c->getImplicitObjectArgument());
  if (!used || c->getMethodDecl() == nullptr || c->getMethodDecl()->getIdentifier() == nullptr)
    return true;
  for (const char* name : {"size", "data", "empty", "resize", "clear"})
    if (c->getMethodDecl()->getName() == name && c->getNumArgs() <= 1 &&
        std::string_view(name) != "data")
      understood_.insert(used->ref);
  return true;
}

bool analysis::VisitCallExpr(CallExpr* c) {
  const FunctionDecl* f = c->getDirectCallee();
  const std::string name = mpi_name(f);
  if (const auto* several = dyn_cast<UnresolvedLookupExpr>(bare(c->getCallee()));
      f == nullptr && several != nullptr) {
    const std::string looked_up = several->getName().getAsString();
    if (looked_up.starts_with("MPI_")) add_dependent_call(c, looked_up);
    return true;
  }
  if (name.empty()) {
    give_to_function(c, f);
    return true;
  }
  if (!r_.own_file(c->getBeginLoc()).empty()) add_call(c, name);
  return true;
}

void analysis::leave(variable& v, const std::string& why) {
  if (v.why.empty()) v.why = why;
}

void analysis::add_edit(const stretch& where, pieces out, condition when, const std::string& key) {
  std::vector<edit>& edits = r_.file_of(where.file).edits;
  for (const edit& e : edits)  // A header is read with each of its sources.
    if (e.begin == where.begin && e.end == where.end && e.when == when && e.key == key) return;
  edits.push_back({where.begin, where.end, std::move(out), when, key});
}

void analysis::read_datatypes(const std::vector<Decl*>& own) {
  struct maker_reader : RecursiveASTVisitor<maker_reader> {
    analysis* of = nullptr;
    bool VisitCallExpr(CallExpr* c) {
      const std::string name = mpi_name(c->getDirectCallee());
      if (!name.starts_with("MPI_Type_") || c->getNumArgs() < 2) return true;
      const bool is_contiguous = name == "MPI_Type_contiguous",
                 is_vector = name == "MPI_Type_vector";
      if (name == "MPI_Type_commit" || name == "MPI_Type_free") return true;
      const auto* address = dyn_cast<UnaryOperator>(bare(c->getArg(c->getNumArgs() - 1)));
      const auto* ref =
          address == nullptr ? nullptr : dyn_cast<DeclRefExpr>(bare(address->getSubExpr()));
      if (ref == nullptr) return true;
      own_datatype made{is_vector, {}};
      if (is_contiguous || is_vector) {
        made.of = of->r_.constant_name(c->getArg(is_vector ? 3 : 1));
        if (find_basic(made.of) == nullptr) made.of.clear();
      }
      const auto [known, is_new] = of->datatypes_.try_emplace(key_of(ref->getDecl()), made);
      if (!is_new && (known->second.of != made.of || known->second.is_strided != made.is_strided))
        known->second.of.clear();
      return true;
    }
  } makers;
  makers.of = this;
  for (Decl* each : own) makers.TraverseDecl(each);
}

std::string analysis::usr_of(const Decl* d) {
  llvm::SmallString<128> text;
  if (index::generateUSRForDecl(d, text)) return {};
  return std::string(text);
}

std::string analysis::key_of(const ValueDecl* d) {
  if (const auto* parameter = dyn_cast<ParmVarDecl>(d)) {
    const auto* f = dyn_cast_or_null<FunctionDecl>(parameter->getDeclContext());
    if (f == nullptr) return {};
    return usr_of(f->getCanonicalDecl()) + "#" + std::to_string(parameter->getFunctionScopeIndex());
  }
  return usr_of(d->getCanonicalDecl());
}

std::string analysis::known_key(const ValueDecl* d) const {
  const std::string key = key_of(d);
  return !key.empty() && r_.into().variables.contains(key) ? key : std::string();
}

std::string analysis::add_variable(const ValueDecl* d, variable_kind kind) {
  const std::string key = key_of(d);
  if (key.empty() || r_.own_file(d->getLocation()).empty()) return {};
  if (!r_.into().variables.contains(key)) {
    variable v;
    v.kind = kind;
    v.name = d->getNameAsString();
    v.at = r_.place_of(d->getLocation());
    r_.into().variables.emplace(key, std::move(v));
  }
  if (d->getLocation().isMacroID()) leave(r_.into().variables.at(key), "a macro declares it");
  if (kind == variable_kind::datatype) {
    variable& v = r_.into().variables.at(key);
    const auto made = datatypes_.find(key);
    if (made == datatypes_.end() || made->second.of.empty())
      leave(
          v,
          "it is not made by MPI_Type_contiguous or MPI_Type_vector of a basic datatype, alike everywhere");
    else
      v.type = made->second.is_strided ? "weft::stride_of" : "std::size_t";
    if (!d->getType()->isPointerType() || d->getType()->getAs<TypedefType>() == nullptr)
      leave(v, "it is no plain variable");
  }
  return key;
}

std::optional<stretch> analysis::written_type(const DeclaratorDecl* d) {
  const TypeSourceInfo* info = d->getTypeSourceInfo();
  if (info == nullptr) return {};
  TypeLoc at = info->getTypeLoc();
  for (int depth = 0; depth < 12 && !at.isNull(); ++depth) {
    if (const auto named = at.getAs<TypedefTypeLoc>())
      return r_.stretch_of({named.getNameLoc(), named.getNameLoc()});
    if (const auto qualified = at.getAs<QualifiedTypeLoc>())
      at = qualified.getUnqualifiedLoc();
    else if (const auto elaborated = at.getAs<ElaboratedTypeLoc>())
      at = elaborated.getNamedTypeLoc();
    else if (const auto pointer = at.getAs<PointerTypeLoc>())
      at = pointer.getPointeeLoc();
    else if (const auto reference = at.getAs<ReferenceTypeLoc>())
      at = reference.getPointeeLoc();
    else if (const auto array = at.getAs<ArrayTypeLoc>())
      at = array.getElementLoc();
    else if (const auto decayed = at.getAs<AdjustedTypeLoc>())
      at = decayed.getOriginalLoc();
    else if (const auto paren = at.getAs<ParenTypeLoc>())
      at = paren.getInnerLoc();
    else if (const auto of = at.getAs<TemplateSpecializationTypeLoc>();
             !of.isNull() && of.getNumArgs() > 0 && of.getArgLoc(0).getTypeSourceInfo() != nullptr)
      at = of.getArgLoc(0).getTypeSourceInfo()->getTypeLoc();
    else
      return {};
  }
  return {};
}

const char* analysis::type_of(variable_kind kind) {
  switch (kind) {
    case variable_kind::communicator:
      return "std::optional<weft::communicator>";
    case variable_kind::request:
      return "weft::request";
    default:
      return "weft::message_status";
  }
}

void analysis::add_type(const DeclaratorDecl* d, const std::string& key) {
  variable& v = r_.into().variables.at(key);
  const auto type = written_type(d);
  if (!type) return leave(v, "its type is written in a way that is not understood");
  if (v.kind == variable_kind::request && !d->getType()->isAnyPointerType() &&
      !d->getType()->isReferenceType())
    leave(v, "it is a copy of a request");
  add_edit(*type, joined(type_of(v.kind)), condition::variable, key);
}

void analysis::add_to_declaration(const DeclaratorDecl* d, const std::string& key) {
  variable& v = r_.into().variables.at(key);
  const auto type = written_type(d);
  const auto whole = r_.stretch_of({d->getBeginLoc(), d->getEndLoc()});
  if (!type || !whole || type->file != whole->file)
    return leave(v, "its type is written in a way that is not understood");
  source& file = r_.file_of(type->file);
  declaration* group = nullptr;
  for (declaration& each : file.declarations)
    if (each.type_begin == type->begin) group = &each;
  if (group == nullptr) {
    file.declarations.push_back({whole->begin, type->begin, type->end, type->end, {}});
    group = &file.declarations.back();
  }
  for (const auto& each : group->all)
    if (each.variable == key) return;
  // A declarator begins behind the type, or behind the comma after the one before it.
  unsigned begin = group->all.empty()
                       ? type->end
                       : static_cast<unsigned>(file.text.find(',', group->all.back().end));
  if (group->all.empty() && d->getType()->getAs<TemplateSpecializationType>() != nullptr)
    begin = static_cast<unsigned>(file.text.find('>', begin)) + 1;
  if (!group->all.empty()) ++begin;
  while (begin < file.text.size() &&
         std::isspace(static_cast<unsigned char>(file.text[begin])) != 0)
    ++begin;
  group->all.push_back({key, begin, whole->end});
  group->end = whole->end;
  const auto* variable_declared = dyn_cast<VarDecl>(d);
  if (variable_declared != nullptr && isa<DecompositionDecl>(variable_declared))
    leave(v, "it is part of a binding");
}

void analysis::begin_variable(const VarDecl* d, const std::string& key, variable_kind kind) {
  variable& v = r_.into().variables.at(key);
  const Expr* init = d->getInit()->IgnoreImplicit();
  if (const auto* made = dyn_cast<CXXConstructExpr>(init)) {
    if (made->getNumArgs() == 0) return;
    if (made->getNumArgs() <= 2 && d->getType()->getAs<TemplateSpecializationType>() != nullptr &&
        !handle_kind(made->getArg(0)->getType()) &&
        (made->getNumArgs() == 1 || isa<CXXDefaultArgExpr>(made->getArg(1))))
      return;  // std::vector<MPI_Request> all(n);
    return leave(v, "it begins in a way that is not understood");
  }
  if (isa<ImplicitValueInitExpr>(init)) return;
  if (const auto* list = dyn_cast<InitListExpr>(init); list != nullptr && list->getNumInits() == 0)
    return;
  if (d->getType()->isArrayType()) return leave(v, "it begins with a list");
  give(key, init, kind, d->hasGlobalStorage());
}

void analysis::give(const std::string& key, const Expr* value, variable_kind kind, bool is_global) {
  variable& v = r_.into().variables.at(key);
  const std::string constant = r_.constant_name(value);
  const auto where = r_.stretch_of(value->getSourceRange());
  if (constant == "MPI_COMM_NULL" && where)
    return add_edit(*where, joined("std::nullopt"), condition::variable, key);
  if (constant == "MPI_REQUEST_NULL" && where)
    return add_edit(*where, joined("weft::request()"), condition::variable, key);
  if (constant == "MPI_COMM_WORLD" && where && !is_global)
    return add_edit(*where, joined("weft::this_world()"), condition::variable, key);
  if (const auto other = variable_of(value); other && kind != variable_kind::request) {
    understood_.insert(other->ref);
    v.same.insert(other->key);
    if (kind == variable_kind::status) v.read = true;
    return;
  }
  leave(v, formatted("it gets a value at line {} that is not understood",
                     r_.place_of(value->getExprLoc()).line));
}

void analysis::assign(const Expr* to, const Expr* value, variable_kind kind) {
  const auto target = variable_of(to);
  if (!target) return;
  understood_.insert(target->ref);
  give(target->key, value, kind, false);
}

bool analysis::compare(const BinaryOperator* b, const Expr* one, const Expr* other,
                       variable_kind kind) {
  const auto used = variable_of(one);
  if (!used) return false;
  const std::string constant = r_.constant_name(other);
  const auto where = r_.stretch_of(b->getSourceRange()),
             operand = r_.stretch_of(one->getSourceRange());
  if (!where || !operand) return false;
  const bool equal = b->getOpcode() == BO_EQ;
  const piece text{.what = piece::kind::source, .begin = operand->begin, .end = operand->end};
  if (constant == "MPI_REQUEST_NULL" && kind == variable_kind::request)
    add_edit(*where, joined(equal ? "!" : "", text, ".active()"), condition::variable, used->key);
  else if (constant == "MPI_COMM_NULL" && kind == variable_kind::communicator)
    add_edit(*where, joined(equal ? "!" : "", text, ".has_value()"), condition::variable,
             used->key);
  else
    return false;
  understood_.insert(used->ref);
  return true;
}

std::optional<analysis::used_variable> analysis::variable_of(const Expr* e) {
  for (int depth = 0; depth < 12; ++depth) {
    e = e->IgnoreParenImpCasts();
    if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
      const std::string key = known_key(ref->getDecl());
      if (key.empty() || !handle_kind(ref->getDecl()->getType())) return {};
      return used_variable{key, ref};
    }
    if (const auto* member = dyn_cast<MemberExpr>(e)) {
      const std::string key = known_key(member->getMemberDecl());
      if (key.empty()) return {};
      return used_variable{key, member};
    }
    if (const auto* unary = dyn_cast<UnaryOperator>(e);
        unary != nullptr && (unary->getOpcode() == UO_AddrOf || unary->getOpcode() == UO_Deref)) {
      e = unary->getSubExpr();
    } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e)) {
      e = subscript->getBase();
    } else if (const auto* binary = dyn_cast<BinaryOperator>(e);
               binary != nullptr && binary->isAdditiveOp()) {
      e = binary->getLHS()->getType()->isAnyPointerType() ||
                  binary->getLHS()->getType()->isArrayType()
              ? binary->getLHS()
              : binary->getRHS();
    } else if (const auto* in_class = dyn_cast<CXXOperatorCallExpr>(e);
               in_class != nullptr && in_class->getOperator() == OO_Subscript) {
      e = in_class->getArg(0);
    } else if (const auto* method = dyn_cast<CXXMemberCallExpr>(e);
               method != nullptr && method->getMethodDecl() != nullptr &&
               method->getMethodDecl()->getIdentifier() != nullptr &&
               method->getMethodDecl()->getName() == "data") {
      e = method->getImplicitObjectArgument();
    } else {
      return {};
    }
  }
  return {};
}

bool analysis::note_constant(const DeclRefExpr* e) {
  const llvm::StringRef name = e->getDecl()->getName();
  const char* in_weft = name == "MPI_PROC_NULL"    ? "weft::proc_null"
                        : name == "MPI_ANY_SOURCE" ? "weft::any_source"
                        : name == "MPI_ANY_TAG"    ? "weft::any_tag"
                                                   : nullptr;
  if (name == "MPI_UNDEFINED")
    if (const auto where = r_.stretch_of(e->getSourceRange()))
      add_edit(*where, joined("weft::undefined_color"), condition::own_colors);
  if (in_weft == nullptr) return true;
  if (!direct_.contains(e)) {
    if (name == "MPI_PROC_NULL") r_.into().mentions_proc_null = true;
    if (name == "MPI_ANY_TAG") r_.into().mentions_any_tag = true;
  }
  if (const auto where = r_.stretch_of(e->getSourceRange()))
    add_edit(*where, joined(in_weft), condition::own_numbers);
  return true;
}

void analysis::note_global(const VarDecl* v) {
  if (!v->hasGlobalStorage() || v->getType().isConstQualified() || v->isConstexpr() ||
      !v->isThisDeclarationADefinition() || isa<ParmVarDecl>(v))
    return;
  QualType element = v->getType();
  while (const auto* array = element->getAsArrayTypeUnsafe()) element = array->getElementType();
  if (element.isConstQualified()) return;
  const place at = r_.place_of(v->getLocation());
  if (at.file.empty()) return;
  for (const global_state& g : r_.into().globals)
    if (g.at.file == at.file && g.at.line == at.line && g.name == v->getName()) return;
  r_.into().globals.push_back({v->getNameAsString(), v->getType().getAsString(), at});
}

void analysis::give_to_function(const CallExpr* c, const FunctionDecl* f) {
  if (f == nullptr) return;
  for (unsigned i = 0; i < c->getNumArgs() && i < f->getNumParams(); ++i) {
    const Expr* argument = c->getArg(i);
    const auto kind = handle_kind(f->getParamDecl(i)->getType());
    if (!kind) continue;
    const std::string parameter = key_of(f->getParamDecl(i));
    if (parameter.empty()) continue;
    if (!r_.into().variables.contains(parameter)) {
      if (r_.own_file(f->getLocation()).empty())
        continue;  // Of others: its argument is not understood.
      add_variable(f->getParamDecl(i), *kind);
    }
    variable& v = r_.into().variables.at(parameter);
    const auto where = r_.stretch_of(argument->getSourceRange());
    const std::string constant = r_.constant_name(argument);
    if (constant == "MPI_COMM_WORLD" && where) {
      add_edit(*where, joined("weft::this_world()"), condition::variable, parameter);
    } else if (constant == "MPI_COMM_NULL" && where) {
      add_edit(*where, joined("std::nullopt"), condition::variable, parameter);
    } else if (const auto used = variable_of(argument)) {
      understood_.insert(used->ref);
      variable& given = r_.into().variables.at(used->key);
      given.same.insert(parameter);
      v.same.insert(used->key);
      if (*kind == variable_kind::status) given.read = v.read = true;
    } else {
      leave(v, formatted("it is given something at line {} that is not understood",
                         r_.place_of(c->getBeginLoc()).line));
    }
  }
}

analysis::statement analysis::statement_of(const CallExpr* c) {
  statement s{c->getSourceRange()};
  DynTypedNode node = DynTypedNode::create(*c);
  for (int depth = 0; depth < 8; ++depth) {
    const auto parents = context_.getParents(node);
    if (parents.empty()) return s;
    const DynTypedNode parent = parents[0];
    if (const auto* e = parent.get<Expr>()) {
      if (isa<ParenExpr, ExprWithCleanups, ImplicitCastExpr>(e)) {
      } else if (const auto* cast = dyn_cast<CStyleCastExpr>(e);
                 cast != nullptr && cast->getType()->isVoidType()) {
        s.range = cast->getSourceRange();
      } else if (const auto* b = dyn_cast<BinaryOperator>(e);
                 b != nullptr && b->getOpcode() == BO_Assign && bare(b->getRHS()) == c) {
        const auto* ref = dyn_cast<DeclRefExpr>(bare(b->getLHS()));
        const auto* v = ref == nullptr ? nullptr : dyn_cast<VarDecl>(ref->getDecl());
        if (v == nullptr || !(v->isLocalVarDecl() || v->getStorageClass() == SC_Static)) return s;
        s.error = v;
        s.range = b->getSourceRange();
        understood_.insert(ref);
      } else {
        return s;
      }
      node = parent;
      continue;
    }
    const auto* child = node.get<Stmt>();
    if (parent.get<CompoundStmt>() != nullptr) {
      s.use = result_use::none;
      s.in_block = true;
    } else if (const auto* i = parent.get<IfStmt>()) {
      if (i->getThen() == child || i->getElse() == child) s.use = result_use::none;
    } else if (const auto* f = parent.get<ForStmt>()) {
      if (f->getBody() == child) s.use = result_use::none;
    } else if (const auto* r = parent.get<CXXForRangeStmt>()) {
      if (r->getBody() == child) s.use = result_use::none;
    } else if (const auto* w = parent.get<WhileStmt>()) {
      if (w->getBody() == child) s.use = result_use::none;
    } else if (const auto* d = parent.get<DoStmt>()) {
      if (d->getBody() == child) s.use = result_use::none;
    } else if (parent.get<SwitchCase>() != nullptr || parent.get<LabelStmt>() != nullptr) {
      s.use = result_use::none;
    } else if (const auto* v = parent.get<VarDecl>()) {
      if (v->isLocalVarDecl() && v->getInit() != nullptr &&
          bare(v->getInit()->IgnoreImplicit()) == c && v->getType()->isIntegerType()) {
        s.error = v;
        s.use = result_use::none;
        declared_error_ = v;
      }
    }
    return s;
  }
  return s;
}

void analysis::add_dependent_call(const CallExpr* c, const std::string& name) {
  const place at = r_.place_of(c->getBeginLoc());
  if (at.file.empty()) return;
  const auto begin = r_.sources().getDecomposedLoc(r_.sources().getExpansionLoc(c->getBeginLoc()));
  call& made = r_.into().calls[key_at(at.file, begin.second)];
  made.function = name;
  made.at = at;
  made.why = "what it is given depends on a template's parameter";
  made.page = "templates";
}

void analysis::add_call(const CallExpr* c, const std::string& name) {
  const place at = r_.place_of(c->getBeginLoc());
  const auto begin = r_.sources().getDecomposedLoc(r_.sources().getExpansionLoc(c->getBeginLoc()));
  const std::string key = key_at(at.file, begin.second);
  if (r_.into().calls.contains(key)) {
    understand_all(c);
    return;
  }
  call& made = r_.into().calls[key];
  made.function = name;
  made.at = at;
  if (function_ != nullptr) made.in_function = function_->getNameAsString();
  current_ = &made;
  declared_error_ = nullptr;
  args_ = c;
  const statement s = statement_of(c);
  try {
    // What it is given is understood in any case: what stays, stays with its variables.
    understand_all(c);
    if (c->getBeginLoc().isMacroID())
      throw reason{formatted("it is in what the macro {} stands for",
                             Lexer::getImmediateMacroName(c->getBeginLoc(), r_.sources(),
                                                          context_.getLangOpts())
                                 .str()),
                   "macros"};
    if (name.starts_with("PMPI_")) throw reason{"it is for profiling", "not-there"};
    if (s.error != nullptr) {
      const std::string error = key_of(s.error);
      variable& v = r_.into().variables[error];
      v.kind = variable_kind::error_code;
      v.name = s.error->getNameAsString();
      v.at = r_.place_of(s.error->getLocation());
      v.defined = true;
      error_codes_.insert(s.error);
      made.variables.push_back(error);
    }
    const bool is_value = name == "MPI_Wtime";
    if (s.use == result_use::looked_at && !is_value)
      throw reason{"the program looks at what it returns", "errors"};
    SourceRange range = is_value ? c->getSourceRange() : s.range;
    const auto where = r_.stretch_of(range);
    if (!where) throw reason{"a macro has a part in it", "macros"};
    in_block_ = s.in_block && s.error == nullptr;
    pieces text = translated(name, c);
    made.begin = where->begin;
    made.end = where->end;
    made.change = {where->begin, where->end, std::move(text), condition::call, key};
    if (declared_error_ != nullptr)  // int error = MPI_Send(...);
      made.change.out.insert(made.change.out.begin(),
                             {.text = made.change.out.empty() ? "0" : "0; "});
    if (made.change.out.empty()) extend_over_line(where->file, made.change, s.in_block);
  } catch (const reason& r) {
    made.why = r.why;
    made.page = r.page;
  }
}

void analysis::extend_over_line(const std::string& file, edit& e, bool in_block) {
  const std::string& text = r_.file_of(file).text;
  if (!in_block) return;  // An empty statement is left.
  unsigned end = e.end;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  if (end >= text.size() || text[end] != ';') return;
  e.end = ++end;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  unsigned begin = e.begin;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  if (begin > 0 && text[begin - 1] == '\n' && end < text.size() && text[end] == '\n') {
    e.begin = begin;
    e.end = end + 1;
  }
}

void analysis::understand_all(const CallExpr* c) {
  for (const Expr* argument : c->arguments()) {
    if (const auto used = variable_of(argument)) {
      understood_.insert(used->ref);
      if (current_ != nullptr && args_ == c) current_->variables.push_back(used->key);
    }
  }
}

void read_calls(reading& r) {
  analysis(r).run();
}

}  // namespace weft::translate
