#include "breakdown/json.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {

constexpr int depth_max = 32;
constexpr std::size_t text_bytes_max = std::size_t{4} << 20;
// Each value has a copy of the names that lead to it.
constexpr std::size_t path_bytes_max = 256;

class json_reader {
 public:
  json_reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  json whole() {
    if (text_.size() > text_bytes_max)
      fail(formatted("it has {} bytes; at most {} are read", text_.size(), text_bytes_max));
    json all = value(std::string(file_) + ":", 0);
    blanks();
    if (at_ != text_.size()) fail("something follows the end of its value");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw error(formatted("{}, byte {}: {}; it is no JSON that weft-breakdown can read",
                          printable(file_), at_, what));
  }
  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char wanted) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void need(char wanted) {
    if (!take(wanted)) fail(formatted("'{}' is missing", wanted));
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  json value(const std::string& where, int depth) {
    if (depth > depth_max) fail(formatted("values are nested more than {} deep", depth_max));
    if (where.size() > file_.size() + path_bytes_max)
      fail(formatted("the names that lead to a value have more than {} bytes", path_bytes_max));
    json made;
    made.where_ = where;
    blanks();
    if (take('{')) {
      json::object members;
      if (!take('}')) {
        do {
          blanks();
          std::string name = string();
          need(':');
          json member = value(where + (where.ends_with(':') ? " " : ".") + name, depth + 1);
          if (!members.emplace(name, std::move(member)).second)
            fail(formatted("'{}' is given twice", printable(name)));
        } while (take(','));
        need('}');
      }
      made.value_ = std::move(members);
    } else if (take('[')) {
      json::list items;
      if (!take(']')) {
        do items.push_back(value(formatted("{}[{}]", where, items.size()), depth + 1));
        while (take(','));
        need(']');
      }
      made.value_ = std::move(items);
    } else if (at_ < text_.size() && text_[at_] == '"') {
      made.value_ = string();
    } else if (take_word("true")) {
      made.value_ = true;
    } else if (take_word("false")) {
      made.value_ = false;
    } else if (!take_word("null")) {
      made.value_ = number();
    }
    return made;
  }

  double number() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (failure != std::errc{} || !std::isfinite(value)) fail("a value is missing");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  std::string string() {
    if (at_ >= text_.size() || text_[at_] != '"') fail("a string is missing");
    std::string made;
    for (++at_; at_ < text_.size(); ++at_) {
      const char one = text_[at_];
      if (one == '"') {
        ++at_;
        return made;
      }
      if (one != '\\') {
        made += one;
        continue;
      }
      if (++at_ >= text_.size()) break;
      switch (text_[at_]) {
        case 'n':
          made += '\n';
          break;
        case 't':
          made += '\t';
          break;
        case 'u': {
          unsigned code = 0;
          const char* const digits = text_.data() + at_ + 1;
          if (text_.size() - at_ < 5 ||
              std::from_chars(digits, digits + 4, code, 16).ptr != digits + 4)
            fail("an escape is not complete");
          made += code < 0x80 ? static_cast<char>(code) : '?';  // weft writes no others.
          at_ += 4;
          break;
        }
        default:
          made += text_[at_];
      }
    }
    fail("a string has no end");
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
};

json json::parsed(std::string_view text, std::string_view file) {
  return json_reader(text, file).whole();
}

void json::refuse(const std::string& what) const {
  throw error(formatted("{} {}", printable(where_), what));
}

bool json::has(std::string_view member) const {
  const auto* const members = std::get_if<object>(&value_);
  return members != nullptr && members->contains(member);
}

const json& json::at(std::string_view member) const {
  const auto* const members = std::get_if<object>(&value_);
  if (members == nullptr) refuse("is no object");
  const auto found = members->find(member);
  if (found == members->end()) refuse(formatted("has no '{}'", member));
  return found->second;
}

double json::number(double least, double most) const {
  const double* const value = std::get_if<double>(&value_);
  if (value == nullptr) refuse("is no number");
  if (!(*value >= least && *value <= most))
    refuse(formatted("is {}; allowed are {} to {}", *value, least, most));
  return *value;
}

const std::string& json::text() const {
  const auto* const value = std::get_if<std::string>(&value_);
  if (value == nullptr) refuse("is no string");
  return *value;
}

const json::list& json::items(std::size_t count) const {
  const list& all = items();
  if (all.size() != count) refuse(formatted("has {} values, not {}", all.size(), count));
  return all;
}

const json::list& json::items() const {
  const auto* const value = std::get_if<list>(&value_);
  if (value == nullptr) refuse("is no list");
  return *value;
}

}  // namespace weft::breakdown
