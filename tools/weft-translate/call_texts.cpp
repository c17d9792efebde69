// The new text of each call of MPI: one function for each kind, which throws the reason where there is none.
#include <cctype>

#include "weft-translate/calls.hpp"

namespace weft::translate {

piece analysis::source_of(const Expr* e) {
  const auto where = r_.stretch_of(e->getSourceRange());
  if (!where || where->file != current_->at.file)
    throw reason{"a macro has a part in it", "macros"};
  return {.what = piece::kind::source, .begin = where->begin, .end = where->end};
}

pieces analysis::in_parentheses(const Expr* e) {
  const Expr* inner = e->IgnoreParenImpCasts();
  if (isa<DeclRefExpr, MemberExpr, ArraySubscriptExpr, CallExpr, IntegerLiteral, ParenExpr>(
          inner) ||
      isa<ParenExpr>(e))
    return joined(source_of(e));
  return joined("(", source_of(e), ")");
}

pieces analysis::target(const Expr* e) {
  const Expr* inner = bare(e);
  if (const auto* unary = dyn_cast<UnaryOperator>(inner);
      unary != nullptr && unary->getOpcode() == UO_AddrOf) {
    if (const auto* ref = dyn_cast<DeclRefExpr>(bare(unary->getSubExpr()))) assigned_.insert(ref);
    return joined(source_of(unary->getSubExpr()));
  }
  if (const auto* sum = dyn_cast<BinaryOperator>(inner);
      sum != nullptr && sum->getOpcode() == BO_Add && sum->getRHS()->getType()->isIntegerType())
    return joined(in_parentheses(sum->getLHS()), "[", source_of(sum->getRHS()), "]");
  return joined("*", in_parentheses(e));
}

std::optional<long> analysis::constant_value(const Expr* e) const {
  Expr::EvalResult value;
  if (e->isValueDependent() || !e->EvaluateAsInt(value, context_)) return {};
  return static_cast<long>(value.Val.getInt().getExtValue());
}

bool analysis::is_null(const Expr* e) const {
  e = e->IgnoreParenCasts();
  return !e->isValueDependent() && (isa<GNUNullExpr, CXXNullPtrLiteralExpr>(e) ||
                                    (isa<IntegerLiteral>(e) && constant_value(e) == 0));
}

pieces analysis::communicator(const Expr* e) {
  const std::string constant = r_.constant_name(e);
  if (constant == "MPI_COMM_WORLD") return world();
  if (!constant.empty()) throw reason{constant + " has no twin", "communicators"};
  if (!variable_of(e)) throw reason{"its communicator is not understood", "communicators"};
  if (e->getType()->isDependentType())
    throw reason{"its communicator depends on a template's parameter", "templates"};
  return joined(in_parentheses(e), "->");
}

pieces analysis::world() {
  const FunctionDecl* f = function_;
  const Stmt* body = f == nullptr ? nullptr : f->getBody();
  if (lambdas_ > 0 || body == nullptr || !isa<CompoundStmt>(body))
    return joined("weft::this_world().");
  const SourceLocation brace = cast<CompoundStmt>(body)->getLBracLoc();
  if (brace.isMacroID() || r_.own_file(brace) != current_->at.file)
    return joined("weft::this_world().");
  const unsigned at = r_.sources().getDecomposedLoc(brace).second + 1;
  source& file = r_.file_of(current_->at.file);
  // As deep as the first line of the body.
  std::size_t line = file.text.find_first_not_of(" \t\r\n", at);
  line = line == std::string::npos ? at : line;
  const std::size_t begin = file.text.rfind('\n', line) + 1;
  std::string indent = begin > at ? file.text.substr(begin, line - begin) : "  ";
  if (file.text[line] == '}') indent += "  ";
  file.world_indents[at] = indent;
  current_->world_at = at;
  return joined(file.world_name + ".");
}

bool analysis::fits(QualType t, const basic_type& of, bool exactly) const {
  t = t.getCanonicalType().getUnqualifiedType();
  if (t->isDependentType() || t->isIncompleteType()) return false;
  if (context_.getTypeSizeInChars(t).getQuantity() != of.bytes) return false;
  if (of.kind == 'z') {
    const auto* record = t->getAsCXXRecordDecl();
    return t->isAnyComplexType() ||
           (record != nullptr && record->getQualifiedNameAsString() == "std::complex");
  }
  if (of.kind == 'f') return t->isRealFloatingType();
  if (of.kind == 'b' || of.kind == 'c') return t->isIntegerType() || t->isStdByteType();
  if (t->isEnumeralType()) return !exactly;
  if (!t->isIntegerType()) return false;
  return !exactly || t->isSignedIntegerType() == (of.kind == 'i') || t->isBooleanType();
}

// The one basic type that a structure has as its members, without gaps; null: there is none.
QualType analysis::only_member(QualType t) const {
  const auto* record = t->getAsRecordDecl();
  if (record == nullptr || record->getDefinition() == nullptr || record->isUnion()) return {};
  QualType only;
  std::int64_t count = 0;
  for (const FieldDecl* f : record->getDefinition()->fields()) {
    QualType member = f->getType();
    std::int64_t here = 1;
    while (const auto* array = context_.getAsConstantArrayType(member)) {
      here *= static_cast<std::int64_t>(array->getSize().getZExtValue());
      member = array->getElementType();
    }
    if (f->isBitField() || !member->isArithmeticType() ||
        (!only.isNull() && !context_.hasSameUnqualifiedType(only, member)))
      return {};
    only = member;
    count += here;
  }
  if (only.isNull() || context_.getTypeSizeInChars(t).getQuantity() !=
                           count * context_.getTypeSizeInChars(only).getQuantity())
    return {};
  return only.getUnqualifiedType();
}

elements analysis::memory(const Expr* buffer, const Expr* count, const Expr* datatype,
                          bool is_written, bool combines, const pieces& blocks, bool may_be_null) {
  const std::string name = r_.constant_name(datatype);
  const basic_type* of = find_basic(name);
  if (of != nullptr && current_->datatype.empty()) current_->datatype = name;
  for (const located_type& each : located_types)
    if (name == each.name && combines) return located(buffer, count, each, is_written, may_be_null);
  if (of == nullptr) {
    if (!name.empty()) throw reason{name + " has no twin in C++", "datatypes"};
    if (const auto used = variable_of(datatype);
        used && datatypes_.contains(used->key) && !datatypes_.at(used->key).of.empty())
      return memory_of_own(buffer, count, datatype, is_written, combines, blocks);
    if (const auto used = variable_of(datatype); used && datatypes_.contains(used->key))
      throw reason{
          formatted("the datatype {} is the program's own", r_.into().variables.at(used->key).name),
          "datatypes"};
    throw reason{"its datatype is not known before the program runs", "datatypes"};
  }
  elements made;
  made.in_cpp = of->in_cpp;
  made.kind = of->kind;
  if (r_.constant_name(buffer) == "MPI_IN_PLACE")
    throw reason{"MPI_IN_PLACE here has no twin", "in-place"};
  if (is_null(buffer)) {
    if (!may_be_null || made.in_cpp.empty()) throw reason{"its buffer is null", "buffers"};
    made.is_none = true;
    made.text = joined(is_written ? "std::span<" : "std::span<const ", made.in_cpp, ">()");
    return made;
  }
  // Without what turns it into an untyped address.
  const Expr* e = bare(buffer);
  while (const auto* cast = dyn_cast<ExplicitCastExpr>(e)) {
    if (!cast->getType()->isVoidPointerType()) break;
    e = bare(cast->getSubExpr());
  }
  if (e->isTypeDependent() || e->isValueDependent() || count->isTypeDependent())
    throw reason{"its buffer depends on a template's parameter", "templates"};
  QualType type = e->getType();
  const bool is_array = type->isArrayType();
  QualType element =
      is_array ? type->getAsArrayTypeUnsafe()->getElementType() : type->getPointeeType();
  if (element.isNull()) throw reason{"its buffer is not understood", "buffers"};
  QualType flat = element;
  while (const auto* inner = flat->getAsArrayTypeUnsafe()) flat = inner->getElementType();
  const auto number = constant_value(count);
  const bool is_one = number == 1 && blocks.empty();
  const pieces size = size_of(count, number, blocks);
  if (flat->isVoidType() || (flat->isCharType() && of->bytes > 1)) {
    if (made.in_cpp.empty()) throw reason{"its buffer is of no type", "buffers"};
    made.text = joined("std::span(", flat->isVoidType() ? "static_cast<" : "reinterpret_cast<",
                       flat.isConstQualified() && !is_written ? "const " : "", made.in_cpp, "*>(",
                       source_of(e), "), ", size, ")");
    need_header(made.in_cpp);
    return made;
  }
  if ((of->kind == 'b' || of->kind == 'c') &&
      !fits(flat, *of, false)) {  // Bytes of something else.
    if (of->kind == 'c' && combines)
      throw reason{"it combines characters of something else", "buffers"};
    made.text = joined("std::span(reinterpret_cast<",
                       flat.isConstQualified() && !is_written ? "const " : "", "std::byte*>(",
                       source_of(e), "), ", size, ")");
    return made;
  }
  if (const QualType only = only_member(flat);
      !only.isNull() && of->kind != 'z' && fits(only, *of, combines)) {
    made.text = joined("std::span(reinterpret_cast<",
                       flat.isConstQualified() && !is_written ? "const " : "", made.in_cpp, "*>(",
                       source_of(e), "), ", size, ")");
    need_header(made.in_cpp);
    return made;
  }
  if (!fits(flat, *of, combines))
    throw reason{formatted("its buffer is of {}, but the datatype says {}",
                           flat.getUnqualifiedType().getAsString(), name),
                 "buffers"};
  made.type = flat.getCanonicalType().getUnqualifiedType();
  if (const auto* address = dyn_cast<UnaryOperator>(e); address != nullptr &&
                                                        address->getOpcode() == UO_AddrOf &&
                                                        is_one && !element->isArrayType()) {
    made.is_value = true;
    made.text = joined(source_of(address->getSubExpr()));
    return made;
  }
  if (is_array) {
    const auto* sized = context_.getAsConstantArrayType(type);
    const bool is_flat = !element->isArrayType();
    if (sized != nullptr && is_flat && blocks.empty() && number &&
        sized->getSize().getZExtValue() == static_cast<std::uint64_t>(*number)) {
      made.text = joined(source_of(e));  // The whole array.
      return made;
    }
    if (!is_flat) {
      std::string zeros = "[0]";
      for (QualType t = element; const auto* inner = t->getAsArrayTypeUnsafe();
           t = inner->getElementType())
        zeros += "[0]";
      made.text = joined("std::span(&", in_parentheses(e), zeros, ", ", size, ")");
      return made;
    }
  } else if (element->isArrayType()) {  // &a[0] of an array of rows, or a pointer to rows.
    std::string zeros = "[0]";
    for (QualType t = element; const auto* inner = t->getAsArrayTypeUnsafe();
         t = inner->getElementType())
      zeros += "[0]";
    made.text = joined("std::span(&", in_parentheses(e), zeros, ", ", size, ")");
    return made;
  }
  if (const std::string container = whole_container(e, count);
      blocks.empty() && !container.empty()) {
    made.text = joined(container);
    return made;
  }
  made.text = joined("std::span(", source_of(e), ", ", size, ")");
  return made;
}

elements analysis::memory_of_own(const Expr* buffer, const Expr* count, const Expr* datatype,
                                 bool is_written, bool combines, const pieces& blocks) {
  const own_datatype& made = datatypes_.at(variable_of(datatype)->key);
  const basic_type& of = *find_basic(made.of);
  const std::string name = r_.text_of(datatype->getSourceRange());
  if (combines || (!blocks.empty() && made.is_strided))
    throw reason{formatted("the datatype {} is the program's own", name), "datatypes"};
  if (!r_.is_pure(datatype) || is_null(buffer))
    throw reason{"its buffer is not understood", "buffers"};
  const Expr* e = bare(buffer);
  while (const auto* cast = dyn_cast<ExplicitCastExpr>(e)) {
    if (!cast->getType()->isVoidPointerType()) break;
    e = bare(cast->getSubExpr());
  }
  if (e->isTypeDependent())
    throw reason{"its buffer depends on a template's parameter", "templates"};
  const QualType element = e->getType()->isArrayType()
                               ? e->getType()->getAsArrayTypeUnsafe()->getElementType()
                               : e->getType()->getPointeeType();
  QualType flat = element;
  std::string zeros;
  while (!flat.isNull() && flat->isArrayType()) {
    flat = flat->getAsArrayTypeUnsafe()->getElementType();
    zeros += "[0]";
  }
  // Structures of nothing else, and memory of no type, are seen as what the datatype says.
  const QualType only = flat.isNull() ? QualType() : only_member(flat);
  const bool is_untyped =
      !flat.isNull() && (flat->isVoidType() || (flat->isCharType() && of.bytes > 1));
  const bool is_seen_as = !made.is_strided && *of.in_cpp != '\0' &&
                          (is_untyped || (!only.isNull() && fits(only, of, false)));
  if (flat.isNull() || (!is_seen_as && !fits(flat, of, false)))
    throw reason{
        formatted("its buffer is of {}, but the datatype {} has {}",
                  flat.isNull() ? "nothing known" : flat.getUnqualifiedType().getAsString(), name,
                  made.of),
        "buffers"};
  elements all;
  all.in_cpp = of.in_cpp;
  all.kind = of.kind;
  all.type = flat.getCanonicalType().getUnqualifiedType();
  if (!zeros.empty() && e->getType()->isArrayType()) zeros += "[0]";
  pieces begin = zeros.empty() ? joined(source_of(e)) : joined("&", in_parentheses(e), zeros);
  if (is_seen_as)
    begin = joined(flat->isVoidType() ? "static_cast<" : "reinterpret_cast<",
                   flat.isConstQualified() && !is_written ? "const " : "", of.in_cpp, "*>(", begin,
                   ")");
  if (!made.is_strided) {
    pieces size = constant_value(count) == 1
                      ? joined(name)
                      : joined("std::size_t(", source_of(count), ") * ", name);
    if (!blocks.empty()) size = joined(size, " * ", blocks);
    all.text = joined("std::span(", begin, ", ", size, ")");
    return all;
  }
  if (!takes_layouts_ || constant_value(count) != 1)
    throw reason{formatted("more than one of {}, or a collective of it, has no twin", name),
                 "datatypes"};
  all.text = joined("weft::strided(std::span(", begin,
                    formatted(", ({0}.count - 1) * {0}.stride + {0}.block), {0})", name));
  return all;
}

pieces analysis::type_target(const Expr* e) {
  if (!variable_of(e)) throw reason{"its datatype is not understood", "datatypes"};
  return target(e);
}
pieces analysis::type_contiguous() {
  if (find_basic(r_.constant_name(argument(1))) == nullptr)
    throw reason{"it is made of another datatype", "datatypes"};
  return joined(type_target(argument(2)), " = std::size_t(", source_of(argument(0)), ")");
}
pieces analysis::type_vector() {
  if (find_basic(r_.constant_name(argument(3))) == nullptr)
    throw reason{"it is made of another datatype", "datatypes"};
  return joined(type_target(argument(4)), " = {.block = std::size_t(", source_of(argument(1)),
                "), .stride = std::size_t(", source_of(argument(2)), "), .count = std::size_t(",
                source_of(argument(0)), ")}");
}
pieces analysis::nothing_of_type() {
  if (!variable_of(argument(0))) throw reason{"its datatype is not understood", "datatypes"};
  return {};
}

elements analysis::located(const Expr* buffer, const Expr* count, const located_type& of,
                           bool is_written, bool may_be_null) {
  if (is_null(buffer) && may_be_null) throw reason{"its buffer is null", "buffers"};
  const Expr* e = bare(buffer);
  if (e->isTypeDependent())
    throw reason{"its buffer depends on a template's parameter", "templates"};
  const QualType type = e->getType();
  const QualType element =
      type->isArrayType() ? type->getAsArrayTypeUnsafe()->getElementType() : type->getPointeeType();
  const RecordDecl* record = element.isNull() ? nullptr : element->getAsRecordDecl();
  std::vector<const FieldDecl*> fields;
  if (record != nullptr && record->getDefinition() != nullptr)
    for (const FieldDecl* f : record->getDefinition()->fields()) fields.push_back(f);
  const basic_type number{"", "", of.kind, of.bytes}, index{"", "", 'i', 4};
  if (fields.size() != 2 || !fits(fields[0]->getType(), number, true) ||
      !fits(fields[1]->getType(), index, true) || fields[0]->getName().empty() ||
      fields[1]->getName().empty())
    throw reason{formatted("its buffer is of {}, but the datatype says {}",
                           element.isNull() ? "nothing known" : element.getAsString(), of.name),
                 "buffers"};
  static_cast<void>(is_written);
  elements made;
  made.kind = 'p';
  made.type = element.getCanonicalType().getUnqualifiedType();
  made.number = fields[0]->getNameAsString();
  made.index = fields[1]->getNameAsString();
  const auto* address = dyn_cast<UnaryOperator>(e);
  made.is_value =
      address != nullptr && address->getOpcode() == UO_AddrOf && constant_value(count) == 1;
  made.text = made.is_value ? joined(source_of(address->getSubExpr()))
                            : joined("std::span(", source_of(e), ", ", source_of(count), ")");
  return made;
}

std::string analysis::whole_container(const Expr* buffer, const Expr* count) {
  const auto* data = dyn_cast<CXXMemberCallExpr>(bare(buffer));
  const auto* size = dyn_cast<CXXMemberCallExpr>(count->IgnoreParenCasts());
  if (data == nullptr || size == nullptr || data->getMethodDecl() == nullptr ||
      size->getMethodDecl() == nullptr || data->getMethodDecl()->getName() != "data" ||
      size->getMethodDecl()->getName() != "size")
    return {};
  const Expr* one = bare(data->getImplicitObjectArgument());
  const Expr* other = bare(size->getImplicitObjectArgument());
  if (!isa<DeclRefExpr, MemberExpr>(one) || !r_.is_pure(one)) return {};
  const std::string text = r_.text_of(one->getSourceRange());
  const auto* of = one->getType()->getAsCXXRecordDecl();
  if (of == nullptr || text != r_.text_of(other->getSourceRange()) ||
      (of->getName() != "vector" && of->getName() != "array" && of->getName() != "basic_string"))
    return {};
  return text;
}

pieces analysis::size_of(const Expr* count, std::optional<long> number, const pieces& blocks) {
  // A conversion to int was for MPI: the count of a span is a size.
  const Expr* plain = bare(count);
  while (const auto* cast = dyn_cast<ExplicitCastExpr>(plain)) {
    if (!cast->getType()->isIntegerType() || !cast->getSubExpr()->getType()->isIntegerType()) break;
    plain = bare(cast->getSubExpr());
  }
  const bool is_size = context_.hasSameUnqualifiedType(plain->getType(), context_.getSizeType());
  if (!is_size) plain = count;
  if (blocks.empty()) return joined(source_of(plain));
  if (number == 1) return blocks;
  return is_size ? joined(in_parentheses(plain), " * ", blocks)
                 : joined("std::size_t(", source_of(plain), ") * ", blocks);
}

void analysis::need_header(const std::string& in_cpp) {
  if (in_cpp.find("int") != std::string::npos && in_cpp.starts_with("std::"))
    r_.file_of(current_->at.file).headers.insert("cstdint");
}

pieces analysis::combining(const Expr* op, const elements& of) {
  const std::string name = r_.constant_name(op);
  current_->operation = name;
  if (of.kind == 'p' && (name == "MPI_MINLOC" || name == "MPI_MAXLOC"))
    return joined(formatted(
        "[](const auto& a, const auto& b) {{ return b.{0} {2} a.{0} || (b.{0} == a.{0} && b.{1} < a.{1}) ? b : a; }}",
        of.number, of.index, name == "MPI_MINLOC" ? "<" : ">"));
  for (const operation& each : operations)
    if (name == each.name) {
      if (std::string_view(each.kinds).find(of.kind) == std::string_view::npos)
        throw reason{formatted("{} of such elements has no twin", name), "operations"};
      return joined(each.in_cpp);
    }
  throw reason{
      name.empty() ? std::string("its operation is the program's own") : name + " has no twin",
      "operations"};
}

void analysis::same_elements(const elements& in, const elements& out) {
  if (in.is_none || out.is_none) return;
  if (in.type.isNull() && out.type.isNull() && in.in_cpp == out.in_cpp) return;
  if (in.type.isNull() != out.type.isNull() || context_.hasSameType(in.type, out.type) == false)
    throw reason{"its two buffers are of different types", "buffers"};
}

piece analysis::converted(const Expr* e, piece::kind what) {
  piece p = source_of(e);
  p.what = what;
  const std::string constant = r_.constant_name(e);
  if (constant == "MPI_PROC_NULL") p.text = "weft::proc_null";
  if (constant == "MPI_ANY_SOURCE") p.text = "weft::any_source";
  if (constant == "MPI_ANY_TAG") p.text = "weft::any_tag";
  if (!p.text.empty()) direct_.insert(cast<DeclRefExpr>(bare(e)));
  p.plain = constant_value(e).has_value() && p.text.empty();
  const auto* name = dyn_cast<DeclRefExpr>(bare(e));
  // A constant that is computed from other numbers.
  if (const auto* v = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
      v != nullptr && v->getType().isConstQualified() && v->hasInit() &&
      isa<BinaryOperator>(bare(v->getInit())) && r_.is_pure(v->getInit()) &&
      !v->getInit()->isTypeDependent() &&
      r_.text_of(v->getInit()->getSourceRange()).find('?') == std::string::npos)
    p.plain = true;
  if (!p.plain && p.text.empty() && name == nullptr &&
      !isa<MemberExpr, ArraySubscriptExpr>(bare(e)))
    current_->has_peer_to_convert = true;
  if (!r_.is_pure(e) && p.text.empty()) current_->has_peer_to_convert = true;
  return p;
}

pieces analysis::status_target(const Expr* e) {
  const std::string constant = r_.constant_name(e);
  if (constant == "MPI_STATUS_IGNORE" || constant == "MPI_STATUSES_IGNORE" || is_null(e)) return {};
  const auto used = variable_of(e);
  if (!used) throw reason{"its status is not understood", "variables"};
  pieces all = joined(target(e), " = ");
  for (piece& each : all) each.status = used->key;
  return all;
}

pieces analysis::request_target(const Expr* e) {
  if (!variable_of(e)) throw reason{"its request is not understood", "variables"};
  return target(e);
}

pieces analysis::requests(const Expr* count, const Expr* e) {
  const auto used = variable_of(e);
  if (!used) throw reason{"its requests are not understood", "variables"};
  const Expr* inner = bare(e);
  if (const auto* sized = context_.getAsConstantArrayType(inner->getType()))
    if (const auto number = constant_value(count);
        number && sized->getSize().getZExtValue() == static_cast<std::uint64_t>(*number))
      return joined(source_of(e));
  return joined("std::span(", source_of(e), ", ", source_of(count), ")");
}

pieces analysis::member_of(const Expr* e) {  // "request" of &request, to be followed by ".wait()".
  const Expr* inner = bare(e);
  if (const auto* unary = dyn_cast<UnaryOperator>(inner);
      unary != nullptr && unary->getOpcode() == UO_AddrOf)
    return in_parentheses(unary->getSubExpr());
  if (const auto* sum = dyn_cast<BinaryOperator>(inner);
      sum != nullptr && sum->getOpcode() == BO_Add)
    return target(e);
  return joined("(*", in_parentheses(e), ")");
}

pieces analysis::translated(const std::string& name, const CallExpr* c) {
  static const std::map<std::string, pieces (analysis::*)()> known = {
      {"MPI_Init", &analysis::init},
      {"MPI_Init_thread", &analysis::init_thread},
      {"MPI_Finalize", &analysis::init},
      {"MPI_Abort", &analysis::abort},
      {"MPI_Wtime", &analysis::wtime},
      {"MPI_Type_contiguous", &analysis::type_contiguous},
      {"MPI_Type_vector", &analysis::type_vector},
      {"MPI_Type_commit", &analysis::nothing_of_type},
      {"MPI_Type_free", &analysis::nothing_of_type},
      {"MPI_Comm_rank", &analysis::comm_rank},
      {"MPI_Comm_size", &analysis::comm_size},
      {"MPI_Comm_split", &analysis::comm_split},
      {"MPI_Comm_split_type", &analysis::comm_split_type},
      {"MPI_Comm_dup", &analysis::comm_dup},
      {"MPI_Comm_free", &analysis::comm_free},
      {"MPI_Send", &analysis::send},
      {"MPI_Rsend", &analysis::send},
      {"MPI_Ssend", &analysis::send},
      {"MPI_Bsend", &analysis::send},
      {"MPI_Isend", &analysis::isend},
      {"MPI_Irsend", &analysis::isend},
      {"MPI_Issend", &analysis::isend},
      {"MPI_Send_init", &analysis::isend},
      {"MPI_Recv", &analysis::recv},
      {"MPI_Irecv", &analysis::irecv},
      {"MPI_Recv_init", &analysis::irecv},
      {"MPI_Sendrecv", &analysis::sendrecv},
      {"MPI_Probe", &analysis::probe},
      {"MPI_Iprobe", &analysis::iprobe},
      {"MPI_Get_count", &analysis::get_count},
      {"MPI_Wait", &analysis::wait},
      {"MPI_Waitall", &analysis::waitall},
      {"MPI_Waitany", &analysis::waitany},
      {"MPI_Test", &analysis::test},
      {"MPI_Testall", &analysis::testall},
      {"MPI_Start", &analysis::start},
      {"MPI_Startall", &analysis::startall},
      {"MPI_Request_free", &analysis::request_free},
      {"MPI_Barrier", &analysis::barrier},
      {"MPI_Ibarrier", &analysis::barrier},
      {"MPI_Bcast", &analysis::bcast},
      {"MPI_Ibcast", &analysis::bcast},
      {"MPI_Reduce", &analysis::reduce},
      {"MPI_Ireduce", &analysis::reduce},
      {"MPI_Allreduce", &analysis::allreduce},
      {"MPI_Iallreduce", &analysis::allreduce},
      {"MPI_Scan", &analysis::scan},
      {"MPI_Exscan", &analysis::scan},
      {"MPI_Iscan", &analysis::scan},
      {"MPI_Iexscan", &analysis::scan},
      {"MPI_Reduce_scatter_block", &analysis::reduce_scatter},
      {"MPI_Ireduce_scatter_block", &analysis::reduce_scatter},
      {"MPI_Gather", &analysis::gather},
      {"MPI_Igather", &analysis::gather},
      {"MPI_Scatter", &analysis::scatter},
      {"MPI_Iscatter", &analysis::scatter},
      {"MPI_Allgather", &analysis::allgather},
      {"MPI_Iallgather", &analysis::allgather},
      {"MPI_Alltoall", &analysis::alltoall},
      {"MPI_Ialltoall", &analysis::alltoall},
  };
  const auto found = known.find(name);
  if (found == known.end()) {
    note_outside(name, c);
    throw reason{"it has no twin in C++", "not-there"};
  }
  takes_layouts_ = false;
  return (this->*found->second)();
}

void analysis::note_outside(const std::string& name, const CallExpr* c) {
  if (name == "MPI_Cart_shift") r_.into().mentions_proc_null = true;
  if (name == "MPI_Comm_set_errhandler" || name == "MPI_Errhandler_set") {
    const std::string handler = r_.constant_name(c->getArg(1));
    if (handler != "MPI_ERRORS_ARE_FATAL" && handler != "MPI_ERRORS_ABORT")
      r_.into().all_stay = formatted("line {} lets errors be returned, which weft would throw",
                                     r_.place_of(c->getBeginLoc()).line);
  }
}

pieces analysis::init() {
  current_->begins_or_ends = true;
  if (current_->function == "MPI_Init" && main_ != nullptr) forget_parameters_of_main();
  return {};
}

void analysis::forget_parameters_of_main() {
  struct counting : RecursiveASTVisitor<counting> {
    std::map<const ValueDecl*, int> counts{};
    bool VisitDeclRefExpr(DeclRefExpr* e) {
      ++counts[e->getDecl()];
      return true;
    }
  } all, inside;
  all.TraverseStmt(main_->getBody());
  inside.TraverseStmt(const_cast<CallExpr*>(args_));
  for (const ParmVarDecl* p : main_->parameters())
    if (inside.counts[p] > 0 && inside.counts[p] == all.counts[p]) parameters_of_main_.push_back(p);
}

void analysis::take_name_away(const NamedDecl* d) {
  const auto* p = cast<ParmVarDecl>(d);
  const auto where = r_.stretch_of({p->getLocation(), p->getLocation()});
  if (!where) return;
  // "char* argv[]" would be "char*[]", which is as good.
  std::string& text = r_.file_of(where->file).text;
  stretch with_space = *where;
  while (with_space.begin > 0 && text[with_space.begin - 1] == ' ') --with_space.begin;
  add_edit(with_space, {}, condition::without_mpi);
}

pieces analysis::init_thread() {
  const auto wanted = r_.constant_name(argument(2));
  if (wanted == "MPI_THREAD_SERIALIZED" || wanted == "MPI_THREAD_MULTIPLE" || wanted.empty())
    r_.into().all_stay = formatted(
        "MPI_Init_thread at line {} lets threads call MPI: ranks of such a program call nothing of weft's C++",
        current_->at.line);
  throw reason{"what it provides has no twin", "threads-and-errors"};
}

pieces analysis::abort() {
  const auto code = constant_value(argument(1));
  if (r_.constant_name(argument(0)) != "MPI_COMM_WORLD")
    throw reason{"it ends a part of the ranks", "not-there"};
  r_.file_of(current_->at.file).headers.insert("cstdlib");
  if (code && *code != 0) return joined("std::_Exit(", source_of(argument(1)), ")");
  if (code) return joined("std::_Exit(1)");
  if (!r_.is_pure(argument(1))) throw reason{"its code is not understood", "not-there"};
  return joined("std::_Exit(", in_parentheses(argument(1)), " != 0 ? ", source_of(argument(1)),
                " : 1)");
}

pieces analysis::wtime() {
  r_.file_of(current_->at.file).headers.insert("chrono");
  return joined(
      "std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()");
}

pieces analysis::comm_rank() {
  return joined(target(argument(1)), " = ", communicator(argument(0)), "rank()");
}

pieces analysis::comm_size() {
  return joined(target(argument(1)), " = ", communicator(argument(0)), "size()");
}

pieces analysis::communicator_target(const Expr* e) {
  if (!variable_of(e)) throw reason{"its communicator is not understood", "communicators"};
  return target(e);
}

pieces analysis::comm_split() {
  piece color = source_of(argument(1));
  color.what = piece::kind::color;
  if (r_.constant_name(argument(1)) == "MPI_UNDEFINED") color.text = "weft::undefined_color";
  // What is computed from numbers is a color.
  const Expr* given = bare(argument(1));
  const auto* computed = dyn_cast<BinaryOperator>(given);
  color.plain =
      constant_value(argument(1)).has_value() ||
      (computed != nullptr && !computed->isAssignmentOp() && computed->getOpcode() != BO_Comma);
  if (!color.plain && !isa<DeclRefExpr, MemberExpr, ArraySubscriptExpr>(given) &&
      color.text.empty()) {
    if (r_.into().mentions_undefined)
      throw reason{"its color may be MPI_UNDEFINED: put it into a variable first", "communicators"};
    color.plain = true;
  }
  return joined(communicator_target(argument(3)), " = ", communicator(argument(0)), "split(", color,
                ", ", source_of(argument(2)), ")");
}

pieces analysis::comm_split_type() {
  if (r_.constant_name(argument(1)) != "MPI_COMM_TYPE_SHARED" || constant_value(argument(2)) != 0)
    throw reason{"weft splits by node alone, in the order of ranks", "communicators"};
  return joined(communicator_target(argument(4)), " = ", communicator(argument(0)), "split_node()");
}

pieces analysis::comm_dup() {
  return joined(communicator_target(argument(1)), " = ", communicator(argument(0)), "dup()");
}

pieces analysis::comm_free() {
  if (!variable_of(argument(0)))
    throw reason{"its communicator is not understood", "communicators"};
  return joined(member_of(argument(0)), ".reset()");
}

std::string analysis::in_lower(const std::string& name) {  // MPI_Isend: isend
  std::string lower = name.substr(name.find('_') + 1);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string analysis::sending() const {
  const std::string lower = in_lower(current_->function);
  return lower == "rsend" ? "send" : lower == "irsend" ? "isend" : lower;
}

pieces analysis::send() {
  takes_layouts_ = true;
  const elements data = memory(argument(0), argument(1), argument(2), false, false);
  return joined(communicator(argument(5)), sending(), "(", data.text, ", ", peer(argument(3)), ", ",
                source_of(argument(4)), ")");
}

pieces analysis::isend() {
  takes_layouts_ = true;
  const elements data = memory(argument(0), argument(1), argument(2), false, false);
  return joined(request_target(argument(6)), " = ", communicator(argument(5)), sending(), "(",
                data.text, ", ", peer(argument(3)), ", ", source_of(argument(4)), ")");
}

pieces analysis::recv() {
  takes_layouts_ = true;
  const elements room = memory(argument(0), argument(1), argument(2), true, false);
  return joined(status_target(argument(6)), communicator(argument(5)), "recv(", room.text, ", ",
                peer(argument(3)), ", ", any_tag(argument(4)), ")");
}

pieces analysis::irecv() {
  takes_layouts_ = true;
  const elements room = memory(argument(0), argument(1), argument(2), true, false);
  return joined(request_target(argument(6)), " = ", communicator(argument(5)),
                in_lower(current_->function), "(", room.text, ", ", peer(argument(3)), ", ",
                any_tag(argument(4)), ")");
}

pieces analysis::sendrecv() {
  takes_layouts_ = true;
  const elements data = memory(argument(0), argument(1), argument(2), false, false);
  const elements room = memory(argument(5), argument(6), argument(7), true, false);
  return joined(status_target(argument(11)), communicator(argument(10)), "sendrecv(", data.text,
                ", ", peer(argument(3)), ", ", room.text, ", ", peer(argument(8)), ", ",
                source_of(argument(4)), ", ", any_tag(argument(9)), ")");
}

pieces analysis::probe() {
  return joined(status_target(argument(3)), communicator(argument(2)), "probe(", peer(argument(0)),
                ", ", any_tag(argument(1)), ")");
}

pieces analysis::iprobe() {
  const pieces look = joined(communicator(argument(2)), "iprobe(", peer(argument(0)), ", ",
                             any_tag(argument(1)), ")");
  const std::string constant = r_.constant_name(argument(4));
  const auto used = variable_of(argument(4));
  if (!used || constant == "MPI_STATUS_IGNORE")
    return joined(target(argument(3)), " = ", look, ".has_value()");
  if (!in_block_)
    throw reason{"it would become two statements here: put it into braces", "buffers"};
  pieces read = joined("const auto found = ", look, "; ", target(argument(3)),
                       " = found.has_value(); if (found) ", target(argument(4)), " = *found");
  pieces unread = joined(target(argument(3)), " = ", look, ".has_value()");
  for (piece& each : read) each.status = used->key;
  for (piece& each : unread) {
    each.status = used->key;
    each.when_read = false;
  }
  pieces open = joined("{ "), close = joined("; }");
  open[0].status = close[0].status = used->key;
  return joined(open, read, close, unread);
}

pieces analysis::get_count() {
  const auto used = variable_of(argument(0));
  if (!used) throw reason{"its status is not understood", "variables"};
  r_.into().variables.at(used->key).read = true;
  const basic_type* of = find_basic(r_.constant_name(argument(1)));
  if (of == nullptr || *of->in_cpp == '\0')
    throw reason{"its datatype has no twin in C++", "datatypes"};
  need_header(of->in_cpp);
  return joined(target(argument(2)), " = static_cast<int>(", member_of(argument(0)), ".count<",
                of->in_cpp, ">())");
}

pieces analysis::wait() {
  return joined(status_target(argument(1)), request_member(argument(0)), ".wait()");
}

pieces analysis::request_member(const Expr* e) {
  if (!variable_of(e)) throw reason{"its request is not understood", "variables"};
  return member_of(e);
}

pieces analysis::waitall() {
  const std::string constant = r_.constant_name(argument(2));
  const pieces all = joined("weft::wait_all(", requests(argument(0), argument(1)), ")");
  const auto used = variable_of(argument(2));
  if (!used) {
    if (constant.empty() && !is_null(argument(2)))
      throw reason{"its statuses are not understood", "variables"};
    return all;
  }
  if (!r_.is_pure(argument(0)) || !r_.is_pure(argument(1)) || !r_.is_pure(argument(2)))
    throw reason{"its arguments would be evaluated more than once", "buffers"};
  pieces each_one = joined("for (int each = 0; each < ", source_of(argument(0)), "; ++each) ",
                           in_parentheses(argument(2)), "[each] = ", in_parentheses(argument(1)),
                           "[each].wait()");
  for (piece& each : each_one) each.status = used->key;
  pieces together = all;
  for (piece& each : together) {
    each.status = used->key;
    each.when_read = false;
  }
  return joined(each_one, together);
}

pieces analysis::waitany() {
  if (r_.into().mentions_undefined)
    throw reason{
        "the program compares with MPI_UNDEFINED, for which weft gives the number of requests",
        "requests"};
  const auto used = variable_of(argument(3));
  pieces status;
  if (used) {
    status = joined(", ", source_of(argument(3)));
    for (piece& each : status) each.status = used->key;
  } else if (r_.constant_name(argument(3)) != "MPI_STATUS_IGNORE") {
    throw reason{"its status is not understood", "variables"};
  }
  return joined(target(argument(2)), " = static_cast<int>(weft::wait_any(",
                requests(argument(0), argument(1)), status, "))");
}

pieces analysis::test() {
  const auto used = variable_of(argument(2));
  pieces status;
  if (used) {
    status = joined(source_of(argument(2)));
    for (piece& each : status) each.status = used->key;
  } else if (r_.constant_name(argument(2)) != "MPI_STATUS_IGNORE") {
    throw reason{"its status is not understood", "variables"};
  }
  return joined(target(argument(1)), " = ", request_member(argument(0)), ".test(", status, ")");
}

pieces analysis::testall() {
  if (r_.constant_name(argument(3)) != "MPI_STATUSES_IGNORE")
    throw reason{"weft's test_all() gives no statuses", "requests"};
  return joined(target(argument(2)), " = weft::test_all(", requests(argument(0), argument(1)), ")");
}

pieces analysis::startall() {
  if (!r_.is_pure(argument(0)) || !r_.is_pure(argument(1)) || !variable_of(argument(1)))
    throw reason{"its arguments would be evaluated more than once", "buffers"};
  return joined("for (int each = 0; each < ", source_of(argument(0)), "; ++each) ",
                in_parentheses(argument(1)), "[each].start()");
}

pieces analysis::request_free() {
  throw reason{"weft ends a program that gives up a request before its end", "requests"};
}

pieces analysis::started(unsigned request) {
  if (!current_->function.starts_with("MPI_I")) return {};
  return joined(request_target(argument(request)), " = ");
}

pieces analysis::barrier() {
  return joined(started(1), communicator(argument(0)), in_lower(current_->function), "()");
}

pieces analysis::bcast() {
  const elements data = memory(argument(0), argument(1), argument(2), true, false);
  return joined(started(5), communicator(argument(4)), in_lower(current_->function), "(", data.text,
                ", ", source_of(argument(3)), ")");
}

pieces analysis::reduce() {
  current_->operation = r_.constant_name(argument(4));
  // rank == root ? MPI_IN_PLACE : sums
  const Expr* in = argument(0);
  if (const auto* chosen = dyn_cast<ConditionalOperator>(in->IgnoreParenCasts())) {
    const Expr* other = is_in_place(chosen->getTrueExpr())    ? chosen->getFalseExpr()
                        : is_in_place(chosen->getFalseExpr()) ? chosen->getTrueExpr()
                                                              : nullptr;
    if (other != nullptr && r_.text_of(bare(other)->getSourceRange()) ==
                                r_.text_of(bare(argument(1))->getSourceRange()))
      in = argument(1);
  }
  if (is_in_place(in)) in = argument(1);
  const elements data = memory(in, argument(2), argument(3), false, true);
  const elements result = memory(argument(1), argument(2), argument(3), true, true, {}, true);
  same_elements(data, result);
  twice(argument(2));
  return joined(started(7), communicator(argument(6)), in_lower(current_->function), "(", data.text,
                ", ", result.text, ", ", combining(argument(4), data), ", ", source_of(argument(5)),
                ")");
}

void analysis::twice(const Expr* e) {
  if (!r_.is_pure(e) && !constant_value(e))
    throw reason{"its count would be evaluated more than once: put it into a variable first",
                 "buffers"};
}

pieces analysis::allreduce() {
  current_->operation = r_.constant_name(argument(4));
  const bool in_place = is_in_place(argument(0));
  const elements data =
      memory(in_place ? argument(1) : argument(0), argument(2), argument(3), false, true);
  const elements result = memory(argument(1), argument(2), argument(3), true, true);
  same_elements(data, result);
  const pieces begin = started(6);
  const pieces how = combining(argument(4), data);
  if (in_place && !result.is_value)
    return joined(begin, communicator(argument(5)), in_lower(current_->function), "(", result.text,
                  ", ", how, ")");
  if (result.is_value && data.is_value && begin.empty())
    return joined(result.text, " = ", communicator(argument(5)), "allreduce(", data.text, ", ", how,
                  ")");
  twice(argument(2));
  if (result.is_value != data.is_value)
    throw reason{"one of its buffers is a variable, the other a range", "buffers"};
  return joined(begin, communicator(argument(5)), in_lower(current_->function), "(", data.text,
                ", ", result.text, ", ", how, ")");
}

pieces analysis::scan() {
  const bool in_place = is_in_place(argument(0));
  const elements data =
      memory(in_place ? argument(1) : argument(0), argument(2), argument(3), false, true);
  const elements result = memory(argument(1), argument(2), argument(3), true, true);
  same_elements(data, result);
  twice(argument(2));
  return joined(started(6), communicator(argument(5)), in_lower(current_->function), "(", data.text,
                ", ", result.text, ", ", combining(argument(4), data), ")");
}

pieces analysis::reduce_scatter() {
  const elements data =
      memory(argument(0), argument(2), argument(3), false, true, per_rank(argument(5)));
  const elements result = memory(argument(1), argument(2), argument(3), true, true);
  same_elements(data, result);
  twice(argument(2));
  std::string name = in_lower(current_->function);
  name.resize(name.size() - std::string_view("_block").size());
  return joined(started(6), communicator(argument(5)), name, "(", data.text, ", ", result.text,
                ", ", combining(argument(4), data), ")");
}

pieces analysis::gather() {
  const elements data = memory(argument(0), argument(1), argument(2), false, false);
  const elements all =
      memory(argument(3), argument(4), argument(5), true, false, per_rank(argument(7)), true);
  return joined(started(8), communicator(argument(7)), in_lower(current_->function), "(", data.text,
                ", ", all.text, ", ", source_of(argument(6)), ")");
}

pieces analysis::scatter() {
  const elements all =
      memory(argument(0), argument(1), argument(2), false, false, per_rank(argument(7)), true);
  const elements mine = memory(argument(3), argument(4), argument(5), true, false);
  return joined(started(8), communicator(argument(7)), in_lower(current_->function), "(", all.text,
                ", ", mine.text, ", ", source_of(argument(6)), ")");
}

pieces analysis::allgather() {
  const elements all =
      memory(argument(3), argument(4), argument(5), true, false, per_rank(argument(6)));
  pieces mine;
  if (is_in_place(argument(0))) {
    if (!r_.is_pure(argument(3)) || !r_.is_pure(argument(4)) || all.type.isNull())
      throw reason{"its buffer would be evaluated more than once", "in-place"};
    mine =
        joined("std::span(", in_parentheses(argument(3)), " + std::size_t(", source_of(argument(4)),
               ") * ", communicator(argument(6)), "rank(), ", source_of(argument(4)), ")");
  } else {
    mine = memory(argument(0), argument(1), argument(2), false, false).text;
  }
  return joined(started(7), communicator(argument(6)), in_lower(current_->function), "(", mine,
                ", ", all.text, ")");
}

pieces analysis::alltoall() {
  const elements data =
      memory(argument(0), argument(1), argument(2), false, false, per_rank(argument(6)));
  const elements all =
      memory(argument(3), argument(4), argument(5), true, false, per_rank(argument(6)));
  return joined(started(7), communicator(argument(6)), in_lower(current_->function), "(", data.text,
                ", ", all.text, ")");
}

}  // namespace weft::translate
