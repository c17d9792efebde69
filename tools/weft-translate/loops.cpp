// Which loops ranks that wait could take parts of: those whose iterations do not need each other. A loop is sharable when
// every write goes to what an iteration has for itself: its own variables, or the element that its index names. What is against
// it nobody can confirm away; a doubt is what is not proven, and the user may know.
#include <clang/AST/RecursiveASTVisitor.h>

#include <array>
#include <set>

#include "base/format.hpp"
#include "weft-translate/analysis.hpp"

namespace weft::translate {

using namespace clang;

namespace {

constexpr std::array functions_without_effects = {
    "sqrt",   "sqrtf",   "fabs",   "fabsf",    "abs",   "labs",  "exp",   "expf", "exp2",
    "log",    "log2",    "log10",  "pow",      "powf",  "sin",   "cos",   "tan",  "sinf",
    "cosf",   "asin",    "acos",   "atan",     "atan2", "sinh",  "cosh",  "tanh", "floor",
    "ceil",   "round",   "trunc",  "fmod",     "fmin",  "fmax",  "hypot", "cbrt", "erf",
    "erfc",   "tgamma",  "lgamma", "copysign", "isnan", "isinf", "min",   "max",  "rint",
    "lround", "llround", "logf",   "expm1",    "log1p", "fma"};

// The variable that a chain of subscripts and members begins with, and its first index.
struct access {
  const ValueDecl* base = nullptr;
  const Expr* first_index = nullptr;  // Null: the variable itself.
  bool through_pointer = false;       // *p, or what a function returns.
  QualType element{};
  const Expr* at = nullptr;
};

access access_of(const Expr* e) {
  access a;
  a.at = e;
  a.element = e->getType();
  for (int depth = 0; depth < 16; ++depth) {
    e = e->IgnoreParenImpCasts();
    if (const auto* ref = dyn_cast<DeclRefExpr>(e)) {
      a.base = ref->getDecl();
      return a;
    }
    if (const auto* member = dyn_cast<MemberExpr>(e)) {
      if (isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts())) {
        a.base = member->getMemberDecl();
        return a;
      }
      if (member->isArrow()) a.through_pointer = true;
      e = member->getBase();
    } else if (const auto* subscript = dyn_cast<ArraySubscriptExpr>(e)) {
      a.first_index = subscript->getIdx();
      e = subscript->getBase();
    } else if (const auto* in_class = dyn_cast<CXXOperatorCallExpr>(e);
               in_class != nullptr && in_class->getOperator() == OO_Subscript) {
      a.first_index = in_class->getArg(1);
      e = in_class->getArg(0);
    } else {
      a.through_pointer = true;
      a.base = nullptr;
      return a;
    }
  }
  a.base = nullptr;
  return a;
}

// What a body does, in the order of the source.
class effects : public RecursiveASTVisitor<effects> {
 public:
  std::vector<std::pair<access, const Expr*>> writes{};  // And the assignment.
  std::vector<access> reads{};
  std::vector<const CallExpr*> calls{};
  std::set<const ValueDecl*> own{};   // Declared inside.
  std::vector<const Stmt*> leaves{};  // return, goto, and break of the loop itself.
  std::vector<const ContinueStmt*> continues{};
  std::set<const Expr*> targets{};
  std::vector<const ForStmt*> inner{};
  bool has_static = false;
  bool has_lambda = false;

  bool VisitVarDecl(VarDecl* v) {
    own.insert(v);
    has_static |= v->isStaticLocal();
    return true;
  }
  bool TraverseLambdaExpr(LambdaExpr*) {
    has_lambda = true;
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator* b) {
    if (b->isAssignmentOp()) write(b->getLHS(), b, b->isCompoundAssignmentOp());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* u) {
    if (u->isIncrementDecrementOp()) write(u->getSubExpr(), u, true);
    if (u->getOpcode() == UO_Deref && !targets.contains(u))
      reads.push_back(access_of(u->getSubExpr()));
    if (u->getOpcode() == UO_AddrOf) {
      const access a = access_of(u->getSubExpr());
      if (a.base != nullptr) addresses.push_back(a);
    }
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr* c) {
    if (c->isAssignmentOp()) write(c->getArg(0), c, c->getOperator() != OO_Equal);
    return true;
  }
  bool VisitCallExpr(CallExpr* c) {
    if (const auto* in_class = dyn_cast<CXXOperatorCallExpr>(c);
        in_class != nullptr &&
        (in_class->getOperator() == OO_Subscript || in_class->isAssignmentOp()))
      return true;
    calls.push_back(c);
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr* e) {
    if (!inside_chain_.contains(e)) note_read(e);
    note_chain(e->getBase());
    return true;
  }
  bool VisitMemberExpr(MemberExpr* e) {
    if (e->isArrow() && !isa<CXXThisExpr>(e->getBase()->IgnoreParenImpCasts())) {
      access a = access_of(e->getBase());
      a.element = e->getType();
      if (!targets.contains(e)) reads.push_back(a);
    }
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* e) {
    mentions[e->getDecl()].push_back(e);
    return true;
  }
  bool TraverseForStmt(ForStmt* f) {
    return nested([&] {
      inner.push_back(f);
      return RecursiveASTVisitor::TraverseForStmt(f);
    });
  }
  bool TraverseWhileStmt(WhileStmt* w) {
    return nested([&] { return RecursiveASTVisitor::TraverseWhileStmt(w); });
  }
  bool TraverseDoStmt(DoStmt* d) {
    return nested([&] { return RecursiveASTVisitor::TraverseDoStmt(d); });
  }
  bool TraverseCXXForRangeStmt(CXXForRangeStmt* f) {
    return nested([&] { return RecursiveASTVisitor::TraverseCXXForRangeStmt(f); });
  }
  bool TraverseSwitchStmt(SwitchStmt* s) {
    ++switches_;
    const bool goes_on = RecursiveASTVisitor::TraverseSwitchStmt(s);
    --switches_;
    return goes_on;
  }
  bool VisitReturnStmt(ReturnStmt* r) {
    leaves.push_back(r);
    return true;
  }
  bool VisitGotoStmt(GotoStmt* g) {
    leaves.push_back(g);
    return true;
  }
  bool VisitBreakStmt(BreakStmt* b) {
    if (loops_ == 0 && switches_ == 0) leaves.push_back(b);
    return true;
  }
  bool VisitContinueStmt(ContinueStmt* c) {
    if (loops_ == 0) continues.push_back(c);
    return true;
  }

  std::map<const ValueDecl*, std::vector<const DeclRefExpr*>> mentions{};
  std::vector<access> addresses{};  // Taken: of what may be written elsewhere.

 private:
  template <class Rest>
  bool nested(Rest&& rest) {
    ++loops_;
    const bool goes_on = rest();
    --loops_;
    return goes_on;
  }
  void write(const Expr* target, const Expr* assignment, bool reads_too) {
    writes.emplace_back(access_of(target), assignment);
    if (!reads_too) targets.insert(target->IgnoreParenImpCasts());
  }
  void note_read(const Expr* e) {
    if (!targets.contains(e)) reads.push_back(access_of(e));
  }
  void note_chain(const Expr* e) {
    e = e->IgnoreParenImpCasts();
    while (const auto* member = dyn_cast<MemberExpr>(e))
      e = member->getBase()->IgnoreParenImpCasts();
    inside_chain_.insert(e);
  }
  std::set<const Expr*> inside_chain_{};
  int loops_ = 0;
  int switches_ = 0;
};

class loop_reader : public RecursiveASTVisitor<loop_reader> {
  using base = RecursiveASTVisitor<loop_reader>;

 public:
  loop_reader(reading& r, const request& what) : r_(r), what_(what) {}

  bool TraverseFunctionDecl(FunctionDecl* f) {
    return within(f, [&] { return base::TraverseFunctionDecl(f); });
  }
  bool TraverseCXXMethodDecl(CXXMethodDecl* f) {
    return within(f, [&] { return base::TraverseCXXMethodDecl(f); });
  }
  bool TraverseForStmt(ForStmt* f) {
    const bool can_be_shared = look_at(f);
    inside_shared_ += can_be_shared;
    const bool goes_on = base::TraverseForStmt(f);
    inside_shared_ -= can_be_shared;
    return goes_on;
  }
  bool VisitCallExpr(CallExpr* c) {
    const FunctionDecl* f = c->getDirectCallee();
    const place at = r_.place_of(c->getBeginLoc());
    if (f != nullptr && function_ != nullptr && !at.file.empty() && f->getIdentifier() != nullptr &&
        !r_.own_file(f->getLocation()).empty())
      r_.into().own_calls.push_back({function_->getNameAsString(), f->getNameAsString(), at});
    return true;
  }

 private:
  struct bounds {
    const VarDecl* index = nullptr;
    const Expr* first = nullptr;
    const Expr* end = nullptr;
    bool inclusive = false;
    bool declared_inside = false;
  };

  template <class Rest>
  bool within(FunctionDecl* f, Rest&& rest) {
    const FunctionDecl* const before = std::exchange(function_, f);
    const bool goes_on = rest();
    function_ = before;
    return goes_on;
  }

  [[nodiscard]] unsigned line_of(const Stmt* s) const {
    return r_.sources().getExpansionLineNumber(s->getBeginLoc());
  }
  [[nodiscard]] std::string text_of(const Expr* e) {
    const std::string text = r_.text_of(e->getSourceRange());
    return text.empty() ? "an expression of a macro" : text;
  }

  [[nodiscard]] static const VarDecl* variable_of(const Expr* e) {
    const auto* ref = dyn_cast<DeclRefExpr>(e->IgnoreParenImpCasts());
    return ref == nullptr ? nullptr : dyn_cast<VarDecl>(ref->getDecl());
  }

  // for (i = first; i < end; ++i)
  [[nodiscard]] static std::optional<bounds> bounds_of(const ForStmt* f) {
    bounds b;
    if (const auto* declared = dyn_cast_or_null<DeclStmt>(f->getInit());
        declared != nullptr && declared->isSingleDecl()) {
      b.index = dyn_cast<VarDecl>(declared->getSingleDecl());
      if (b.index == nullptr || b.index->getInit() == nullptr) return {};
      b.first = b.index->getInit();
      b.declared_inside = true;
    } else if (const auto* assigned = dyn_cast_or_null<BinaryOperator>(f->getInit());
               assigned != nullptr && assigned->getOpcode() == BO_Assign) {
      b.index = variable_of(assigned->getLHS());
      b.first = assigned->getRHS();
    }
    if (b.index == nullptr || !b.index->getType()->isIntegerType()) return {};
    const auto* condition = dyn_cast_or_null<BinaryOperator>(f->getCond());
    if (condition == nullptr ||
        (condition->getOpcode() != BO_LT && condition->getOpcode() != BO_LE) ||
        variable_of(condition->getLHS()) != b.index)
      return {};
    b.end = condition->getRHS();
    b.inclusive = condition->getOpcode() == BO_LE;
    const Expr* step = f->getInc();
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(step);
        unary != nullptr && unary->isIncrementOp() && variable_of(unary->getSubExpr()) == b.index)
      return b;
    const auto* added = dyn_cast_or_null<CompoundAssignOperator>(step);
    if (added == nullptr || added->getOpcode() != BO_AddAssign ||
        variable_of(added->getLHS()) != b.index)
      return {};
    const auto* one = dyn_cast<IntegerLiteral>(added->getRHS()->IgnoreParenImpCasts());
    if (one == nullptr || one->getValue() != 1) return {};
    return b;
  }

  // The constant c of an index i + c; nothing where it is another.
  [[nodiscard]] std::optional<long> offset_of(const Expr* e, const VarDecl* index) const {
    e = e->IgnoreParenCasts();
    if (variable_of(e) == index) return 0;
    const auto* b = dyn_cast<BinaryOperator>(e);
    if (b == nullptr || (b->getOpcode() != BO_Add && b->getOpcode() != BO_Sub)) return {};
    const auto number = [&](const Expr* x) -> std::optional<long> {
      Expr::EvalResult value;
      if (x->isValueDependent() || !x->EvaluateAsInt(value, r_.context())) return {};
      return static_cast<long>(value.Val.getInt().getExtValue());
    };
    if (const auto left = offset_of(b->getLHS(), index))
      if (const auto right = number(b->getRHS()))
        return b->getOpcode() == BO_Add ? *left + *right : *left - *right;
    if (b->getOpcode() == BO_Add)
      if (const auto right = offset_of(b->getRHS(), index))
        if (const auto left = number(b->getLHS())) return *left + *right;
    return {};
  }

  // i * n + j, where j runs over 0 <= j < n in a loop inside: another element for each i.
  [[nodiscard]] bool is_row_of(const Expr* e, const VarDecl* index, const effects& what) {
    const auto* sum = dyn_cast<BinaryOperator>(e->IgnoreParenCasts());
    if (sum == nullptr || sum->getOpcode() != BO_Add) return false;
    for (const auto& [row, column] :
         {std::pair{sum->getLHS(), sum->getRHS()}, std::pair{sum->getRHS(), sum->getLHS()}}) {
      const auto* product = dyn_cast<BinaryOperator>(row->IgnoreParenCasts());
      const VarDecl* j = variable_of(column->IgnoreParenCasts());
      if (product == nullptr || product->getOpcode() != BO_Mul || j == nullptr) continue;
      const Expr* width =
          variable_of(product->getLHS()->IgnoreParenCasts()) == index   ? product->getRHS()
          : variable_of(product->getRHS()->IgnoreParenCasts()) == index ? product->getLHS()
                                                                        : nullptr;
      if (width == nullptr || !is_fixed(width, what)) continue;
      for (const ForStmt* f : what.inner) {
        const auto of = bounds_of(f);
        if (!of || of->index != j || of->inclusive) continue;
        Expr::EvalResult first;
        if (of->first->EvaluateAsInt(first, r_.context()) &&
            first.Val.getInt().getExtValue() >= 0 &&
            text_of(of->end->IgnoreParenCasts()) == text_of(width->IgnoreParenCasts()))
          return true;
      }
    }
    return false;
  }

  // The same in every iteration.
  [[nodiscard]] bool is_fixed(const Expr* e, const effects& what) {
    if (!r_.is_pure(e)) return false;
    struct names : RecursiveASTVisitor<names> {
      std::vector<const ValueDecl*> all{};
      bool VisitDeclRefExpr(DeclRefExpr* ref) {
        all.push_back(ref->getDecl());
        return true;
      }
      bool VisitMemberExpr(MemberExpr* m) {
        all.push_back(m->getMemberDecl());
        return true;
      }
    } of;
    of.TraverseStmt(const_cast<Expr*>(e));
    for (const ValueDecl* each : of.all) {
      if (what.own.contains(each)) return false;
      for (const auto& [a, by] : what.writes)
        if (a.base == each) return false;
    }
    return true;
  }

  [[nodiscard]] static bool is_object(const ValueDecl* d) {
    const QualType t = d->getType();
    if (isa<ParmVarDecl>(d) && t->isPointerType()) return t.isRestrictQualified();
    if (t->isArrayType()) return true;
    if (t->isPointerType()) return t.isRestrictQualified();
    return !t->isReferenceType();
  }

  // Whether a call changes nothing that lasts. Says what it does otherwise.
  [[nodiscard]] std::string effect_of(const FunctionDecl* f, const effects& loop, int depth) {
    if (f == nullptr) return "calls a function that is not known before the program runs";
    const std::string name = f->getNameAsString();
    if (f->hasAttr<ConstAttr>()) return {};
    if (f->getIdentifier() != nullptr)
      for (const std::string_view known : functions_without_effects)
        if (name == known && r_.own_file(f->getLocation()).empty()) return {};
    if (const auto* method = dyn_cast<CXXMethodDecl>(f);
        method != nullptr && method->isConst() && r_.sources().isInSystemHeader(f->getLocation()))
      return {};
    if (f->isConstexpr() && r_.sources().isInSystemHeader(f->getLocation()) &&
        f->getNumParams() == 0)
      return {};
    const FunctionDecl* defined = nullptr;
    if (!f->hasBody(defined) || depth > 6)
      return formatted("calls {}(), whose body is not seen", name);
    effects inside;
    inside.TraverseStmt(defined->getBody());
    if (inside.has_static) return formatted("calls {}(), which keeps a static variable", name);
    for (const auto& [a, by] : inside.writes) {
      const bool is_local =
          a.base != nullptr && (inside.own.contains(a.base) || isa<ParmVarDecl>(a.base)) &&
          a.first_index == nullptr && !a.through_pointer && !a.base->getType()->isReferenceType();
      const bool is_local_array =
          a.base != nullptr && inside.own.contains(a.base) && a.base->getType()->isArrayType();
      if (!is_local && !is_local_array)
        return formatted("calls {}(), which writes to {}", name,
                         a.base == nullptr ? "memory" : a.base->getNameAsString());
    }
    for (const auto& [d, refs] : inside.mentions)
      for (const auto& [a, by] : loop.writes)
        if (a.base == d) return formatted("calls {}(), which reads {}", name, d->getNameAsString());
    for (const CallExpr* c : inside.calls)
      if (const std::string why = effect_of(c->getDirectCallee(), loop, depth + 1); !why.empty())
        return why;
    for (const ParmVarDecl* p : defined->parameters())
      if (p->getType()->isPointerType() && !p->getType()->getPointeeType()->isFunctionType())
        return formatted(
            "calls {}(), which gets an address and may read what other iterations write", name);
    return {};
  }

  bool look_at(ForStmt* f) {
    const place at = r_.place_of(f->getBeginLoc());
    if (at.file.empty() || function_ == nullptr || f->getBeginLoc().isMacroID()) return false;
    const auto begin = r_.sources().getDecomposedLoc(f->getBeginLoc()).second;
    const std::string key = key_at(at.file, begin);
    if (r_.into().loops.contains(key)) return false;
    loop& l = r_.into().loops[key];
    l.at = at;
    l.function = function_->getNameAsString();
    l.inside_another = inside_shared_ > 0;
    effects what;
    what.TraverseStmt(f->getBody());
    const auto of = bounds_of(f);
    if (!of) {
      for (const CallExpr* c : what.calls)
        if (!mpi_name(c->getDirectCallee()).empty()) {
          l.against.push_back(formatted("it communicates ({} at line {})",
                                        mpi_name(c->getDirectCallee()), line_of(c)));
          return false;
        }
      l.against.push_back("it does not count from one number to another in steps of one");
      return false;
    }
    std::vector<const Expr*> sums;
    judge(l, *of, what, sums);
    find_pragma(l, at.file, begin);
    if (l.against.empty()) make_change(l, f, *of, what, sums);
    for (const auto& [file, line] : what_.chosen_loops)
      if (line == at.line && (file == at.file || at.file.ends_with("/" + file))) l.chosen = true;
    l.chosen |= l.has_pragma;
    l.chosen &= l.against.empty() && l.cannot_rewrite.empty();
    return l.against.empty() && (l.chosen || l.doubts.empty());
  }

  void judge(loop& l, const bounds& of, const effects& what, std::vector<const Expr*>& sums) {
    const auto against = [&](std::string why) {
      for (const std::string& known : l.against)
        if (known == why) return;
      l.against.push_back(std::move(why));
    };
    const auto doubt = [&](std::string why) {
      for (const std::string& known : l.doubts)
        if (known == why) return;
      l.doubts.push_back(std::move(why));
    };
    for (const CallExpr* c : what.calls) {
      const FunctionDecl* callee = c->getDirectCallee();
      const std::string mpi = mpi_name(callee);
      if (!mpi.empty() && mpi != "MPI_Wtime") {
        against(formatted("it communicates ({} at line {})", mpi, line_of(c)));
        continue;
      }
      if (callee != nullptr && callee->getIdentifier() != nullptr && communicates(callee, 0)) {
        against(formatted("{}() at line {} communicates", callee->getNameAsString(), line_of(c)));
        continue;
      }
      if (callee != nullptr && callee->getIdentifier() != nullptr && prints(callee->getName())) {
        against(
            formatted("it prints in order ({} at line {})", callee->getNameAsString(), line_of(c)));
        continue;
      }
      if (const std::string why = effect_of(callee, what, 0); !why.empty())
        doubt(formatted("it {} (line {})", why, line_of(c)));
    }
    for (const Stmt* s : what.leaves)
      against(formatted("line {} leaves it before its end", line_of(s)));
    if (what.has_static) against("it keeps a static variable");
    if (what.has_lambda) doubt("there is a lambda in it, which is not looked into");
    if (!is_fixed(of.end, what))
      against(formatted("its end, {}, changes while it runs", text_of(of.end)));
    if (!r_.is_pure(of.first)) against("where it begins is not a plain value");

    std::map<const ValueDecl*, std::optional<long>> written;  // At which offset of the index.
    std::map<const ValueDecl*, const access*> places;
    for (const auto& [a, by] : what.writes) {
      if (a.base == of.index) {
        against(formatted("line {} changes its index", line_of(by)));
        continue;
      }
      if (a.base != nullptr && what.own.contains(a.base)) {
        const bool is_itself =
            !a.base->getType()->isPointerType() && !a.base->getType()->isReferenceType();
        if (is_itself || (a.first_index == nullptr && !a.through_pointer &&
                          !a.base->getType()->isReferenceType()))
          continue;
        doubt(formatted("line {} writes through {}, which may lead to what other iterations use",
                        line_of(by), a.base->getNameAsString()));
        continue;
      }
      if (a.base == nullptr || a.first_index == nullptr) {
        if (a.base == nullptr || a.through_pointer) {
          doubt(formatted("line {} writes to {}, which another iteration may use", line_of(by),
                          text_of(a.at)));
          continue;
        }
        const auto* compound = dyn_cast<CompoundAssignOperator>(by);
        if (compound != nullptr && compound->getOpcode() == BO_AddAssign &&
            a.element->isArithmeticType() && isa<DeclRefExpr>(a.at->IgnoreParenImpCasts()) &&
            what.mentions.at(a.base).size() == 1) {
          sums.push_back(by);
          if (a.element->isFloatingType())
            doubt(formatted(
                "{} is a sum of floating-point numbers (line {}): chunk by chunk it is rounded otherwise, and the "
                "same on any number of ranks that help",
                a.base->getNameAsString(), line_of(by)));
          continue;
        }
        against(formatted("line {} writes to {}, which all iterations share", line_of(by),
                          text_of(a.at)));
        continue;
      }
      const auto offset = offset_of(a.first_index, of.index);
      if (!offset && !is_row_of(a.first_index, of.index, what)) {
        doubt(formatted("line {} writes to {}: it is not proven that no other iteration uses that",
                        line_of(by), text_of(a.at)));
        continue;
      }
      const auto known = written.find(a.base);
      if (known != written.end() && known->second != offset)
        against(formatted("line {} writes to {}, which another iteration writes to as well",
                          line_of(by), text_of(a.at)));
      written.emplace(a.base, offset);
      places.emplace(a.base, &a);
    }
    for (const access& a : what.reads) {
      const auto known = a.base == nullptr ? written.end() : written.find(a.base);
      if (known == written.end()) continue;
      const auto offset =
          a.first_index == nullptr ? std::nullopt : offset_of(a.first_index, of.index);
      const bool is_row = a.first_index != nullptr && is_row_of(a.first_index, of.index, what);
      if (!(known->second && offset == known->second) && !(!known->second && is_row))
        against(formatted("line {} reads {}, of which another iteration writes a part",
                          line_of(a.at), text_of(a.at)));
    }
    // Two pointers may lead to the same memory, unless the language says that they do not.
    for (const auto& [d, offset] : written)
      for (const access& a : what.reads) {
        if (a.base == nullptr || a.base == d || what.own.contains(a.base)) continue;
        if (is_object(d) && is_object(a.base)) continue;
        if (!r_.context().hasSameUnqualifiedType(places.at(d)->element, a.element)) continue;
        doubt(formatted("{} and {} may be the same memory", d->getNameAsString(),
                        a.base->getNameAsString()));
      }
    for (const auto& [d, offset] : written)
      for (const auto& [other, other_offset] : written)
        if (d < other && !(is_object(d) && is_object(other)) &&
            r_.context().hasSameUnqualifiedType(places.at(d)->element, places.at(other)->element))
          doubt(formatted("{} and {} may be the same memory", d->getNameAsString(),
                          other->getNameAsString()));
    for (const access& a : what.addresses)
      if (a.base != nullptr && written.contains(a.base))
        doubt(formatted("the address of {} is taken", a.base->getNameAsString()));
  }

  [[nodiscard]] static bool prints(llvm::StringRef name) {
    for (const char* each : {"printf", "fprintf", "puts", "putchar", "fputs", "fwrite", "scanf",
                             "fscanf", "fgets", "exit", "abort", "rand", "srand", "drand48"})
      if (name == each) return true;
    return false;
  }
  [[nodiscard]] bool communicates(const FunctionDecl* f, int depth) {
    const FunctionDecl* defined = nullptr;
    if (depth > 6 || !f->hasBody(defined) || r_.own_file(f->getLocation()).empty()) return false;
    effects inside;
    inside.TraverseStmt(defined->getBody());
    for (const CallExpr* c : inside.calls) {
      const FunctionDecl* callee = c->getDirectCallee();
      if (callee == nullptr) continue;
      if (const std::string mpi = mpi_name(callee); !mpi.empty() && mpi != "MPI_Wtime") return true;
      if (callee->getIdentifier() != nullptr && communicates(callee, depth + 1)) return true;
    }
    return false;
  }

  // "#pragma weft tasks" or "#pragma omp parallel for" in the line before it.
  void find_pragma(loop& l, const std::string& file, unsigned begin) {
    const std::string& text = r_.file_of(file).text;
    const std::size_t line = text.rfind('\n', begin) + 1;
    if (line < 2) return;
    const std::size_t before = text.rfind('\n', line - 2) + 1;
    std::string pragma = text.substr(before, line - 1 - before);
    std::string plain;
    for (const char c : pragma)
      if (c != '\t' && (c != ' ' || (!plain.empty() && plain.back() != ' '))) plain += c;
    if (!plain.starts_with("#pragma weft tasks") && !plain.starts_with("#pragma omp parallel for"))
      return;
    for (const char* clause :
         {"private(", "lastprivate", "ordered", "collapse", "copyin", "linear(", "if(", "if ("})
      if (plain.find(clause) != std::string::npos) {
        l.cannot_rewrite = formatted("its pragma says {}, which has no twin", clause);
        return;
      }
    l.has_pragma = true;
    l.change.push_back({static_cast<unsigned>(before), static_cast<unsigned>(line)});
  }

  void make_change(loop& l, const ForStmt* f, const bounds& of, const effects& what,
                   const std::vector<const Expr*>& sums) {
    const auto fail = [&](std::string why) {
      if (l.cannot_rewrite.empty()) l.cannot_rewrite = std::move(why);
    };
    if (sums.size() > 1) return fail("it has more than one sum");
    if (!of.declared_inside && !is_only_of_loops(of.index))
      return fail(formatted("{} is used outside of it", of.index->getNameAsString()));
    const Stmt* body = f->getBody();
    const auto whole = r_.stretch_of({f->getBeginLoc(), f->getRParenLoc()});
    const auto inside = r_.stretch_of(body->getSourceRange());
    const auto first = r_.stretch_of(of.first->getSourceRange()),
               end = r_.stretch_of(of.end->getSourceRange());
    if (!whole || !inside || !first || !end) return fail("a macro has a part in it");
    const std::string& text = r_.file_of(whole->file).text;
    const bool is_block = isa<CompoundStmt>(body);
    unsigned after = inside->end;
    if (!is_block) {
      while (after < text.size() && text[after] != ';') ++after;
      if (after < text.size() && !text.substr(inside->end, after - inside->end).empty() &&
          text.substr(inside->end, after - inside->end).find_first_not_of(" \t\n") !=
              std::string::npos)
        after = inside->end;
      else
        ++after;
      if (isa<ForStmt, WhileStmt, IfStmt, DoStmt>(body) && text[inside->end - 1] == '}')
        after = inside->end;
    }
    const std::string name = of.index->getNameAsString();
    std::string type =
        of.index->getType().getUnqualifiedType().getAsString(r_.context().getPrintingPolicy());
    if (type == "auto") return fail("the type of its index is not written");
    const std::string begins = text.substr(first->begin, first->end - first->begin);
    std::string ends = text.substr(end->begin, end->end - end->begin);
    if (of.inclusive) ends += " + 1";
    const auto as_index = [&](const std::string& e, const Expr* of_expression) {
      const bool same = r_.context().hasSameUnqualifiedType(
          of_expression->IgnoreParenImpCasts()->getType(), of.index->getType());
      return same ? e : formatted("static_cast<{}>({})", type, e);
    };
    const std::string b = as_index(begins, of.first), e = as_index(ends, of.end);
    source& file = r_.file_of(whole->file);
    file.headers.insert("algorithm");
    const auto edit_to = [&](unsigned from, unsigned to, std::string out) {
      l.change.push_back({from, to, {{.text = std::move(out)}}});
    };
    if (sums.empty()) {
      edit_to(whole->begin, inside->begin,
              formatted(
                  "weft::parallel_for(std::views::iota({0}, std::max({0}, {1})), [&]({2} {3}) {4}",
                  b, e, type, name, is_block ? "" : "{ "));
      edit_to(after, after, is_block ? ");" : " });");
    } else {
      const access sum = access_of(cast<CompoundAssignOperator>(sums[0])->getLHS());
      const std::string of_sum =
          sum.element.getUnqualifiedType().getAsString(r_.context().getPrintingPolicy());
      const std::string total = sum.base->getNameAsString();
      const std::size_t line = text.rfind('\n', whole->begin) + 1;
      const std::size_t deep = text.find_first_not_of(" \t", line);
      const std::string indent =
          text.substr(line, std::min<std::size_t>(deep, whole->begin) - line);
      edit_to(
          whole->begin, inside->begin,
          formatted(
              "{5} += weft::parallel_reduce(\n{6}    0, static_cast<std::size_t>(std::max({0}, {1}) - {0}), "
              "static_cast<{4}>(0),\n{6}    [&](weft::range_1d part) {{\n{6}      {4} {5} = 0;\n{6}      for ({2} {3} "
              "= {0} + static_cast<{2}>(part.begin); {3} < {0} + static_cast<{2}>(part.end); ++{3}) ",
              b, e, type, name, of_sum, total, indent));
      edit_to(
          after, after,
          formatted("\n{1}      return {0};\n{1}    }},\n{1}    std::plus<>());", total, indent));
      l.notes.push_back(formatted("the sum {} is combined in the order of the chunks", total));
    }
    if (sums.empty())
      for (const ContinueStmt* c : what.continues)
        if (const auto where = r_.stretch_of(c->getSourceRange()))
          edit_to(where->begin, where->end, "return");
  }

  // A variable that is declared outside and used in loops alone that begin with it.
  [[nodiscard]] bool is_only_of_loops(const VarDecl* index) {
    if (!index->isLocalVarDecl() || function_ == nullptr || function_->getBody() == nullptr)
      return false;
    struct looking : RecursiveASTVisitor<looking> {
      const VarDecl* of = nullptr;
      int inside = 0;
      bool is_alone = true;
      bool TraverseForStmt(ForStmt* f) {
        const auto b = bounds_of(f);
        const bool begins_it = b && b->index == of;
        inside += begins_it;
        const bool goes_on = RecursiveASTVisitor::TraverseForStmt(f);
        inside -= begins_it;
        return goes_on;
      }
      bool VisitDeclRefExpr(DeclRefExpr* e) {
        if (e->getDecl() == of && inside == 0) is_alone = false;
        return true;
      }
    } look;
    look.of = index;
    look.TraverseStmt(function_->getBody());
    return look.is_alone;
  }

  reading& r_;
  const request& what_;
  const FunctionDecl* function_ = nullptr;
  int inside_shared_ = 0;
};

}  // namespace

void read_loops(reading& r, const request& what) {
  loop_reader reader(r, what);
  for (Decl* each : r.context().getTranslationUnitDecl()->decls())
    if (!r.own_file(each->getLocation()).empty()) reader.TraverseDecl(each);
}

}  // namespace weft::translate
