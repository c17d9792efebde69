// The new text of files, and how it differs from the old one.
#include <algorithm>
#include <cstddef>

#include "base/format.hpp"
#include "weft-translate/program.hpp"

namespace weft::translate {
namespace {

class rewriting {
 public:
  rewriting(const program& p, const source& of, const std::string& name) : p_(p), of_(of) {
    for (const edit& e : of.edits)
      if (is_active(e)) edits_.push_back(e);
    const auto is_of_calls = [](const edit& e) { return e.when != condition::always; };
    const bool changes = std::any_of(edits_.begin(), edits_.end(), is_of_calls);
    const std::size_t before = edits_.size();
    for (const auto& [key, c] : p.calls)
      if (c.at.file == name && c.why.empty() && (!c.begins_or_ends || p.is_without_mpi)) {
        edits_.push_back(c.change);
        if (c.world_at) worlds_.insert(*c.world_at);
      }
    for (const auto& [key, l] : p.loops)
      if (l.at.file == name && l.chosen)
        for (const edit& e : l.change) edits_.push_back(e);
    for (const declaration& d : of.declarations) add(d);
    // What C++ and new text need is of no use alone.
    calls_weft_ = changes || edits_.size() != before;
    if (!calls_weft_ && !(p.becomes_cpp && (of.is_c || !of.given))) edits_.clear();
    for (const unsigned at : worlds_)
      insert(at, "\n" + of.world_indents.at(at) + "const weft::communicator " + of.world_name +
                     " = weft::this_world();");
    add_headers();
    // What encloses comes first; what begins together, in the order in which it was found.
    std::stable_sort(edits_.begin(), edits_.end(), [](const edit& a, const edit& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  [[nodiscard]] std::string text() {
    std::size_t next = 0;
    return part(0, static_cast<unsigned>(of_.text.size()), next);
  }

 private:
  [[nodiscard]] bool is_active(const edit& e) const {
    switch (e.when) {
      case condition::always:
        return true;
      case condition::call:
        return p_.calls.at(e.key).why.empty() &&
               (!p_.calls.at(e.key).begins_or_ends || p_.is_without_mpi);
      case condition::variable:
        return p_.variables.at(e.key).why.empty();
      case condition::without_mpi:
        return p_.is_without_mpi;
      case condition::own_numbers:
        return p_.has_own_numbers;
      case condition::own_colors:
        return p_.has_own_colors;
    }
    return false;
  }

  void insert(unsigned at, std::string text) {
    edits_.push_back({at, at, {{.text = std::move(text)}}});
  }

  [[nodiscard]] bool is_removed(const variable& v) const {
    return v.why.empty() && v.kind == variable_kind::status && !v.read;
  }
  // Empty: it stays.
  [[nodiscard]] static std::string new_type(const variable& v) {
    if (!v.why.empty()) return {};
    switch (v.kind) {
      case variable_kind::communicator:
        return "std::optional<weft::communicator>";
      case variable_kind::request:
        return "weft::request";
      case variable_kind::status:
        return "weft::message_status";
      case variable_kind::datatype:
        return v.type;
      case variable_kind::error_code:
        break;
    }
    return {};
  }

  // One declaration for each type that its variables become.
  void add(const declaration& d) {
    std::vector<std::string> types;
    bool changes = false, removes = false, differs = false;
    for (const auto& each : d.all) {
      const variable& v = p_.variables.at(each.variable);
      types.push_back(new_type(v));
      changes |= !types.back().empty();
      removes |= is_removed(v);
      differs |= types.back() != types.front();
    }
    if (!changes) return;
    if (!differs && !removes) {
      edits_.push_back({d.type_begin, d.type_end, {{.text = types.front()}}});
      return;
    }
    edit e{d.begin, d.end};
    for (std::size_t i = 0; i < d.all.size(); ++i) {
      if (is_removed(p_.variables.at(d.all[i].variable))) continue;
      const bool joins = i > 0 && !e.out.empty() && types[i] == types[i - 1] &&
                         !is_removed(p_.variables.at(d.all[i - 1].variable));
      if (joins) {
        e.out.push_back({.text = ", "});
      } else {
        if (!e.out.empty()) e.out.push_back({.text = "; "});
        e.out.push_back(source_piece(d.begin, d.type_begin));
        if (types[i].empty())
          e.out.push_back(source_piece(d.type_begin, d.type_end));
        else
          e.out.push_back({.text = types[i]});
        e.out.push_back({.text = " "});
      }
      e.out.push_back(source_piece(d.all[i].begin, d.all[i].end));
    }
    if (e.out.empty()) extend_over_statement(e);
    edits_.push_back(std::move(e));
  }

  static piece source_piece(unsigned begin, unsigned end) {
    return {.what = piece::kind::source, .begin = begin, .end = end};
  }

  // Takes the semicolon along and, where nothing else stands there, the line.
  void extend_over_statement(edit& e) const {
    const std::string& text = of_.text;
    if (e.end < text.size() && text[e.end] == ';') ++e.end;
    unsigned begin = e.begin, end = e.end;
    while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
    while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
    if ((begin == 0 || text[begin - 1] == '\n') && end < text.size() && text[end] == '\n') {
      e.begin = begin;
      e.end = end + 1;
    }
  }

  void add_headers() {
    std::string headers;
    for (const std::string& each : of_.headers) headers += "#include <" + each + ">\n";
    const bool is_needed = calls_weft_ || (!edits_.empty() && !of_.headers.empty());
    bool is_placed = false;
    for (const auto& [begin, end] : of_.mpi_includes) {
      const std::string weft = is_needed && !is_placed ? headers + "#include <weft/weft.hpp>" : "";
      if (p_.is_without_mpi) {
        edit e{begin, end};
        if (weft.empty())
          extend_over_statement(e);
        else
          e.out.push_back({.text = weft});
        edits_.push_back(std::move(e));
      } else if (!weft.empty()) {
        insert(end, "\n" + weft);
      }
      is_placed |= !weft.empty();
    }
    if (is_needed && !is_placed) {
      insert(of_.first_include.value_or(0), headers + "#include <weft/weft.hpp>\n");
    }
  }

  // What stands in [begin, end), with the edits from `next` on, which begin there, done.
  std::string part(unsigned begin, unsigned end, std::size_t& next) {
    std::string out;
    unsigned at = begin;
    while (next < edits_.size() && edits_[next].begin < begin) ++next;
    while (next < edits_.size() && edits_[next].begin <= end && edits_[next].end <= end) {
      const edit& e = edits_[next++];
      if (e.begin < at) continue;
      out.append(of_.text, at, e.begin - at);
      const std::size_t inside = next;
      for (const piece& each : e.out) out += text_of(each, inside);
      at = e.end;
      if (e.end > e.begin)
        while (next < edits_.size() && edits_[next].begin < e.end) ++next;
    }
    return out.append(of_.text, at, end - at);
  }

  std::string text_of(const piece& each, std::size_t inside) {
    if (!each.status.empty()) {
      const auto status = p_.variables.find(each.status);
      if (status == p_.variables.end() || status->second.read != each.when_read) return {};
    }
    if (each.what == piece::kind::text) return each.text;
    std::size_t next = inside;
    const std::string as_it_is = part(each.begin, each.end, next);
    const bool is_color = each.what == piece::kind::color;
    if (each.what == piece::kind::source || (is_color ? p_.has_own_colors : p_.has_own_numbers))
      return as_it_is;
    if (!each.text.empty()) return each.text;
    if (each.plain) return as_it_is;
    if (is_color)
      return p_.mentions_undefined
                 ? formatted("{0} == MPI_UNDEFINED ? weft::undefined_color : {0}", as_it_is)
                 : as_it_is;
    const bool is_peer = each.what == piece::kind::peer;
    if (!(is_peer ? p_.mentions_proc_null : p_.mentions_any_tag)) return as_it_is;
    return is_peer ? formatted("({0} == MPI_PROC_NULL ? weft::proc_null : {0})", as_it_is)
                   : formatted("({0} == MPI_ANY_TAG ? weft::any_tag : {0})", as_it_is);
  }

  const program& p_;
  const source& of_;
  std::vector<edit> edits_;
  std::set<unsigned> worlds_;
  bool calls_weft_ = false;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end - at + 1));
    at = end + 1;
  }
  return lines;
}

// Which lines of `a` stay, as pairs of numbers in both texts: a longest common subsequence, by the way of Myers: with d
// differences the furthest line on each diagonal, for d = 0, 1, ...
std::vector<std::pair<long, long>> common_lines(const std::vector<std::string>& a,
                                                const std::vector<std::string>& b) {
  const long n = static_cast<long>(a.size()), m = static_cast<long>(b.size()), most = n + m;
  const auto row = [&](long k) { return static_cast<std::size_t>(k + most + 1); };
  std::vector<long> furthest(static_cast<std::size_t>(2 * most + 3), 0);
  std::vector<std::vector<long>> steps;
  const auto same = [&](long x, long y) {
    return a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)];
  };
  bool is_found = false;
  for (long d = 0; d <= most && !is_found; ++d) {
    steps.push_back(furthest);
    for (long k = -d; k <= d && !is_found; k += 2) {
      const bool down = k == -d || (k != d && furthest[row(k - 1)] < furthest[row(k + 1)]);
      long x = down ? furthest[row(k + 1)] : furthest[row(k - 1)] + 1;
      while (x < n && x - k < m && same(x, x - k)) ++x;
      furthest[row(k)] = x;
      is_found = x >= n && x - k >= m;
    }
  }
  std::vector<std::pair<long, long>> common;
  long x = n, y = m;
  for (long d = static_cast<long>(steps.size()) - 1; d >= 0; --d) {
    const std::vector<long>& before = steps[static_cast<std::size_t>(d)];
    const long k = x - y;
    const bool down = k == -d || (k != d && before[row(k - 1)] < before[row(k + 1)]);
    const long from_k = down ? k + 1 : k - 1;
    const long from_x = d == 0 ? 0 : before[row(from_k)], from_y = d == 0 ? 0 : from_x - from_k;
    while (x > from_x && y > from_y && x > 0 && y > 0 && same(x - 1, y - 1))
      common.emplace_back(--x, --y);
    x = from_x;
    y = from_y;
  }
  std::reverse(common.begin(), common.end());
  return common;
}

std::string range_of_lines(long first, long count) {
  return formatted("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::string rewritten(const program& p, const std::string& file) {
  return rewriting(p, p.files.at(file), file).text();
}

std::string difference(const std::string& old_name, const std::string& old_text,
                       const std::string& new_name, const std::string& new_text) {
  if (old_text == new_text) return {};
  constexpr long around = 3;
  const auto a = lines_of(old_text), b = lines_of(new_text);
  auto common = common_lines(a, b);
  common.emplace_back(static_cast<long>(a.size()), static_cast<long>(b.size()));
  struct line {
    char mark;
    const std::string* text;
    long x, y;
  };
  std::vector<line> all;
  long x = 0, y = 0;
  for (const auto& [cx, cy] : common) {
    for (; x < cx; ++x) all.push_back({'-', &a[static_cast<std::size_t>(x)], x, y});
    for (; y < cy; ++y) all.push_back({'+', &b[static_cast<std::size_t>(y)], x, y});
    if (cx < static_cast<long>(a.size()))
      all.push_back({' ', &a[static_cast<std::size_t>(cx)], x++, y++});
  }
  std::string out = "--- " + old_name + "\n+++ " + new_name + "\n";
  const long count = static_cast<long>(all.size());
  const auto is_same = [&](long i) { return all[static_cast<std::size_t>(i)].mark == ' '; };
  for (long i = 0; i < count;) {
    while (i < count && is_same(i)) ++i;
    if (i == count) break;
    const long begin = std::max(0L, i - around);
    long last = i;  // Of the changes in this piece.
    for (long j = i; j < count && j <= last + 2 * around + 1; ++j)
      if (!is_same(j)) last = j;
    const long end = std::min(count, last + around + 1);
    long old_count = 0, new_count = 0;
    std::string body;
    for (long j = begin; j < end; ++j) {
      const line& l = all[static_cast<std::size_t>(j)];
      old_count += l.mark != '+';
      new_count += l.mark != '-';
      body += l.mark + *l.text;
      if (!l.text->ends_with('\n')) body += "\n\\ No newline at end of file\n";
    }
    const line& first = all[static_cast<std::size_t>(begin)];
    out += formatted("@@ -{} +{} @@\n", range_of_lines(first.x, old_count),
                     range_of_lines(first.y, new_count)) +
           body;
    i = end;
  }
  return out;
}

}  // namespace weft::translate
