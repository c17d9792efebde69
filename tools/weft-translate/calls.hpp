// The calls of one source, and its variables of MPI's types. analysis.cpp reads them; call_texts.cpp has the new text of each
// call.
#pragma once
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Index/USRGeneration.h>

#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "weft-translate/analysis.hpp"

namespace weft::translate {

using namespace clang;

// Why a call stays.
struct reason {
  std::string why;
  std::string page;
};

struct basic_type {
  const char* name;  // MPI's.
  const char* in_cpp;
  char kind;  // i, u: integers; f: floating; z: complex; b: bytes; c: characters.
  unsigned bytes;
};
inline constexpr std::array basic_types = {
    basic_type{"MPI_CHAR", "char", 'c', 1},
    basic_type{"MPI_SIGNED_CHAR", "signed char", 'i', 1},
    basic_type{"MPI_UNSIGNED_CHAR", "unsigned char", 'u', 1},
    basic_type{"MPI_BYTE", "std::byte", 'b', 1},
    basic_type{"MPI_SHORT", "short", 'i', 2},
    basic_type{"MPI_UNSIGNED_SHORT", "unsigned short", 'u', 2},
    basic_type{"MPI_INT", "int", 'i', 4},
    basic_type{"MPI_UNSIGNED", "unsigned", 'u', 4},
    basic_type{"MPI_LONG", "long", 'i', 8},
    basic_type{"MPI_UNSIGNED_LONG", "unsigned long", 'u', 8},
    basic_type{"MPI_LONG_LONG", "long long", 'i', 8},
    basic_type{"MPI_UNSIGNED_LONG_LONG", "unsigned long long", 'u', 8},
    basic_type{"MPI_FLOAT", "float", 'f', 4},
    basic_type{"MPI_DOUBLE", "double", 'f', 8},
    basic_type{"MPI_LONG_DOUBLE", "long double", 'f', 16},
    basic_type{"MPI_INT8_T", "std::int8_t", 'i', 1},
    basic_type{"MPI_INT16_T", "std::int16_t", 'i', 2},
    basic_type{"MPI_INT32_T", "std::int32_t", 'i', 4},
    basic_type{"MPI_INT64_T", "std::int64_t", 'i', 8},
    basic_type{"MPI_UINT8_T", "std::uint8_t", 'u', 1},
    basic_type{"MPI_UINT16_T", "std::uint16_t", 'u', 2},
    basic_type{"MPI_UINT32_T", "std::uint32_t", 'u', 4},
    basic_type{"MPI_UINT64_T", "std::uint64_t", 'u', 8},
    basic_type{"MPI_C_BOOL", "bool", 'u', 1},
    basic_type{"MPI_CXX_BOOL", "bool", 'u', 1},
    basic_type{"MPI_C_FLOAT_COMPLEX", "", 'z', 8},
    basic_type{"MPI_C_DOUBLE_COMPLEX", "", 'z', 16},
    basic_type{"MPI_CXX_FLOAT_COMPLEX", "", 'z', 8},
    basic_type{"MPI_CXX_DOUBLE_COMPLEX", "", 'z', 16},
    basic_type{"MPI_AINT", "std::intptr_t", 'i', 8},
    basic_type{"MPI_COUNT", "std::int64_t", 'i', 8},
    basic_type{"MPI_OFFSET", "std::int64_t", 'i', 8},
};

inline const basic_type* find_basic(const std::string& name) {
  for (const basic_type& each : basic_types)
    if (name == each.name) return &each;
  return nullptr;
}

// A number and where it is, for the least and the largest.
struct located_type {
  const char* name;
  char kind;
  unsigned bytes;
};
inline constexpr std::array located_types = {
    located_type{"MPI_DOUBLE_INT", 'f', 8}, located_type{"MPI_FLOAT_INT", 'f', 4},
    located_type{"MPI_LONG_INT", 'i', 8}, located_type{"MPI_2INT", 'i', 4}};

struct operation {
  const char* name;
  const char* in_cpp;
  const char* kinds;  // Of elements.
};
inline constexpr std::array operations = {operation{"MPI_SUM", "std::plus<>()", "iufzc"},
                                          operation{"MPI_PROD", "std::multiplies<>()", "iufzc"},
                                          operation{"MPI_MAX", "weft::max()", "iufc"},
                                          operation{"MPI_MIN", "weft::min()", "iufc"},
                                          operation{"MPI_LAND", "std::logical_and<>()", "iu"},
                                          operation{"MPI_LOR", "std::logical_or<>()", "iu"},
                                          operation{"MPI_BAND", "std::bit_and<>()", "iu"},
                                          operation{"MPI_BOR", "std::bit_or<>()", "iu"},
                                          operation{"MPI_BXOR", "std::bit_xor<>()", "iu"}};

// The kind of one of MPI's types, by its name in the source; of pointers, arrays and vectors that of their elements.
inline std::optional<variable_kind> handle_kind(QualType t) {
  for (int depth = 0; depth < 8; ++depth) {
    if (const auto* named = t->getAs<TypedefType>()) {
      const llvm::StringRef name = named->getDecl()->getName();
      if (name == "MPI_Comm") return variable_kind::communicator;
      if (name == "MPI_Request") return variable_kind::request;
      if (name == "MPI_Status") return variable_kind::status;
      if (name == "MPI_Datatype") return variable_kind::datatype;
    }
    if (t->isReferenceType() || t->isAnyPointerType()) {
      t = t->getPointeeType();
    } else if (const auto* array = t->getAsArrayTypeUnsafe()) {
      t = array->getElementType();
    } else if (const auto* of = t->getAs<TemplateSpecializationType>();
               of != nullptr && of->template_arguments().size() >= 1 &&
               of->template_arguments()[0].getKind() == TemplateArgument::Type &&
               of->getTemplateName().getAsTemplateDecl() != nullptr &&
               (of->getTemplateName().getAsTemplateDecl()->getName() == "vector" ||
                of->getTemplateName().getAsTemplateDecl()->getName() == "array")) {
      t = of->template_arguments()[0].getAsType();
    } else {
      return {};
    }
  }
  return {};
}

using pieces = std::vector<piece>;

inline void append(pieces& to, const char* text) {
  to.push_back({.text = text});
}
inline void append(pieces& to, std::string text) {
  to.push_back({.text = std::move(text)});
}
inline void append(pieces& to, const pieces& more) {
  to.insert(to.end(), more.begin(), more.end());
}
inline void append(pieces& to, const piece& one) {
  to.push_back(one);
}
template <class... Parts>
pieces joined(const Parts&... parts) {
  pieces all;
  (append(all, parts), ...);
  return all;
}

// Elements that a call sends or receives.
struct elements {
  pieces text;
  QualType type;       // As in the program; null where the datatype says it.
  std::string in_cpp;  // The datatype's.
  char kind = ' ';
  bool is_value = false;          // One variable, not a range.
  bool is_none = false;           // No memory is given.
  std::string number{}, index{};  // Members of a structure of a number and where it is.
};

class analysis : public RecursiveASTVisitor<analysis> {
  using base = RecursiveASTVisitor<analysis>;

 public:
  explicit analysis(reading& r) : r_(r), context_(r.context()) {}

  void run();

  // --- Functions, and where their world is defined ---------------------------------------------------
  bool TraverseFunctionDecl(FunctionDecl* f) {
    return within(f, [&] { return base::TraverseFunctionDecl(f); });
  }
  bool TraverseCXXMethodDecl(CXXMethodDecl* f) {
    return within(f, [&] { return base::TraverseCXXMethodDecl(f); });
  }
  bool TraverseCXXConstructorDecl(CXXConstructorDecl* f) {
    return within(f, [&] { return base::TraverseCXXConstructorDecl(f); });
  }
  bool TraverseCXXDestructorDecl(CXXDestructorDecl* f) {
    return within(f, [&] { return base::TraverseCXXDestructorDecl(f); });
  }
  bool TraverseLambdaExpr(LambdaExpr* l) {
    ++lambdas_;
    const bool goes_on = base::TraverseLambdaExpr(l);
    --lambdas_;
    return goes_on;
  }

  // --- Variables ----------------------------------------------------------------------------------------
  bool VisitVarDecl(VarDecl* v);
  // Members are used above the place where they are declared.
  void add_member(FieldDecl* f);
  bool VisitFieldDecl(FieldDecl* f);
  bool VisitCXXConstructorDecl(CXXConstructorDecl* c);
  bool VisitDeclRefExpr(DeclRefExpr* e);
  bool VisitMemberExpr(MemberExpr* e);
  bool VisitBinaryOperator(BinaryOperator* b);
  bool VisitCXXMemberCallExpr(CXXMemberCallExpr* c);

  // --- Calls --------------------------------------------------------------------------------------------
  bool VisitCallExpr(CallExpr* c);

 private:
  struct used_variable {
    std::string key;
    const Expr* ref = nullptr;
  };

  template <class Rest>
  bool within(FunctionDecl* f, Rest&& rest) {
    const FunctionDecl* const before = std::exchange(function_, f);
    if (f->isMain() && f->isThisDeclarationADefinition()) main_ = f;
    const bool goes_on = rest();
    function_ = before;
    return goes_on;
  }

  void leave(variable& v, const std::string& why);
  // What the program makes of each of its datatypes, wherever it does.
  void read_datatypes(const std::vector<Decl*>& own);

  void add_edit(const stretch& where, pieces out, condition when, const std::string& key = {});

  [[nodiscard]] static std::string usr_of(const Decl* d);
  [[nodiscard]] static std::string key_of(const ValueDecl* d);
  [[nodiscard]] std::string known_key(const ValueDecl* d) const;

  std::string add_variable(const ValueDecl* d, variable_kind kind);

  // The name of MPI's type in a declaration, as it is written.
  [[nodiscard]] std::optional<stretch> written_type(const DeclaratorDecl* d);

  static const char* type_of(variable_kind kind);

  // Of a parameter: its own name of the type.
  void add_type(const DeclaratorDecl* d, const std::string& key);

  // Of what may be declared together with others.
  void add_to_declaration(const DeclaratorDecl* d, const std::string& key);

  void begin_variable(const VarDecl* d, const std::string& key, variable_kind kind);

  // A variable gets a value: of another, which then shares its fate, or a constant.
  void give(const std::string& key, const Expr* value, variable_kind kind, bool is_global);

  void assign(const Expr* to, const Expr* value, variable_kind kind);

  // request == MPI_REQUEST_NULL
  bool compare(const BinaryOperator* b, const Expr* one, const Expr* other, variable_kind kind);

  // The variable that an expression of one of MPI's types comes down to: x, &x, x[i], x + i, *x, x.data().
  [[nodiscard]] std::optional<used_variable> variable_of(const Expr* e);

  // MPI_PROC_NULL and its kin, wherever they stand.
  bool note_constant(const DeclRefExpr* e);

  void note_global(const VarDecl* v);

  void give_to_function(const CallExpr* c, const FunctionDecl* f);

  // --- A call of MPI --------------------------------------------------------------------------------------
  enum class result_use { none, looked_at };

  // The expression that is replaced: the call, or what throws its result away.
  struct statement {
    SourceRange range;
    result_use use = result_use::looked_at;
    const ValueDecl* error = nullptr;  // Only assigned to: it decides.
    bool in_block = false;             // The statement may become several.
  };

  [[nodiscard]] statement statement_of(const CallExpr* c);

  // In a template: what it is given depends on the template's parameters.
  void add_dependent_call(const CallExpr* c, const std::string& name);

  void add_call(const CallExpr* c, const std::string& name);

  // A statement that goes takes its semicolon and its line along.
  void extend_over_line(const std::string& file, edit& e, bool in_block);

  // Links the call to every variable of MPI's types among its arguments.
  void understand_all(const CallExpr* c);

  [[nodiscard]] const Expr* argument(unsigned i) const { return args_->getArg(i); }

  [[nodiscard]] piece source_of(const Expr* e);
  [[nodiscard]] pieces in_parentheses(const Expr* e);

  // What a pointer points to: x of &x, and else *p.
  [[nodiscard]] pieces target(const Expr* e);

  [[nodiscard]] std::optional<long> constant_value(const Expr* e) const;

  [[nodiscard]] bool is_null(const Expr* e) const;

  // "comm->" or "world.": what a call of the communicator begins with.
  [[nodiscard]] pieces communicator(const Expr* e);
  [[nodiscard]] pieces world();

  // Whether elements of type `t` are what a datatype says.
  [[nodiscard]] bool fits(QualType t, const basic_type& of, bool exactly) const;

  [[nodiscard]] QualType only_member(QualType t) const;

  // The memory of `count` elements of `datatype` at `buffer`.  `blocks` is put before the count: so many times as many.
  [[nodiscard]] elements memory(const Expr* buffer, const Expr* count, const Expr* datatype,
                                bool is_written, bool combines, const pieces& blocks = {},
                                bool may_be_null = false);

  // The same of a datatype that the program has made.
  [[nodiscard]] elements memory_of_own(const Expr* buffer, const Expr* count, const Expr* datatype,
                                       bool is_written, bool combines, const pieces& blocks);
  [[nodiscard]] pieces type_target(const Expr* e);
  pieces type_contiguous();
  pieces type_vector();
  pieces nothing_of_type();

  // Structures of a number and an int, as MPI_MINLOC has them.
  [[nodiscard]] elements located(const Expr* buffer, const Expr* count, const located_type& of,
                                 bool is_written, bool may_be_null);

  // v of v.data() and v.size(): a std::vector as a whole.
  [[nodiscard]] std::string whole_container(const Expr* buffer, const Expr* count);

  [[nodiscard]] pieces size_of(const Expr* count, std::optional<long> number, const pieces& blocks);

  void need_header(const std::string& in_cpp);

  [[nodiscard]] pieces combining(const Expr* op, const elements& of);

  void same_elements(const elements& in, const elements& out);

  // The number of a rank, or of nobody.
  [[nodiscard]] piece peer(const Expr* e) { return converted(e, piece::kind::peer); }
  [[nodiscard]] piece any_tag(const Expr* e) { return converted(e, piece::kind::tag); }
  [[nodiscard]] piece converted(const Expr* e, piece::kind what);

  // "status = ", where the program looks at it.
  [[nodiscard]] pieces status_target(const Expr* e);
  [[nodiscard]] pieces request_target(const Expr* e);
  [[nodiscard]] pieces requests(const Expr* count, const Expr* e);
  [[nodiscard]] pieces member_of(const Expr* e);

  [[nodiscard]] pieces translated(const std::string& name, const CallExpr* c);

  // Calls that bind the others.
  void note_outside(const std::string& name, const CallExpr* c);

  pieces init();
  // Parameters of main() that only MPI_Init is given.
  void forget_parameters_of_main();
  void take_name_away(const NamedDecl* d);

  pieces init_thread();
  pieces abort();
  pieces wtime();
  pieces comm_rank();
  pieces comm_size();

  [[nodiscard]] pieces communicator_target(const Expr* e);
  pieces comm_split();
  pieces comm_split_type();
  pieces comm_dup();
  pieces comm_free();

  [[nodiscard]] static std::string in_lower(const std::string& name);
  // Ready sends are sends: that the receive is there is not asked for.
  [[nodiscard]] std::string sending() const;

  pieces send();
  pieces isend();
  pieces recv();
  pieces irecv();
  pieces sendrecv();
  pieces probe();
  pieces iprobe();
  pieces get_count();
  pieces wait();
  [[nodiscard]] pieces request_member(const Expr* e);
  pieces waitall();
  pieces waitany();
  pieces test();
  pieces testall();
  pieces start() { return joined(request_member(argument(0)), ".start()"); }
  pieces startall();
  // Of a request that is not active; one that is would end the program, where MPI lets it go on.
  pieces request_free();

  // Non-blocking: "request = " before it.
  [[nodiscard]] pieces started(unsigned request);
  pieces barrier();
  pieces bcast();
  [[nodiscard]] bool is_in_place(const Expr* e) { return r_.constant_name(e) == "MPI_IN_PLACE"; }

  pieces reduce();
  void twice(const Expr* e);
  pieces allreduce();
  pieces scan();
  // As many blocks as there are ranks.
  [[nodiscard]] pieces per_rank(const Expr* comm) { return joined(communicator(comm), "size()"); }

  pieces reduce_scatter();
  pieces gather();
  pieces scatter();
  pieces allgather();
  pieces alltoall();

  reading& r_;
  ASTContext& context_;
  const FunctionDecl* function_ = nullptr;
  const FunctionDecl* main_ = nullptr;
  int lambdas_ = 0;
  call* current_ = nullptr;
  const CallExpr* args_ = nullptr;
  const VarDecl* declared_error_ = nullptr;
  bool in_block_ = false;
  bool takes_layouts_ = false;  // The call, in place of a range.
  struct own_datatype {
    bool is_strided = false;
    std::string of;  // MPI's name of its elements; empty: made in more than one way.
  };
  std::map<std::string, own_datatype> datatypes_{};
  std::map<const Expr*, std::string> uses_{};  // Mentions of variables, and whose.
  std::set<const Expr*> understood_{};
  std::set<const DeclRefExpr*> direct_{};  // Constants that are arguments themselves.
  std::set<const ValueDecl*> error_codes_{};
  std::set<const DeclRefExpr*> assigned_{};  // Where a call gives a variable its value.
  std::map<const ValueDecl*, std::vector<const DeclRefExpr*>> numbers_{};
  std::vector<const NamedDecl*> parameters_of_main_{};
};

}  // namespace weft::translate
