// Reads JSON that others wrote. Nothing of it is believed: a text that is none, too deep or too large is
// refused with one line that names file and place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::breakdown {

class json {
 public:
  using list = std::vector<json>;
  using object = std::map<std::string, json, std::less<>>;

  json() = default;
  // Throws weft::error; `file` names the text in it.
  [[nodiscard]] static json parsed(std::string_view text, std::string_view file);

  // Each throws weft::error that says which member of which file has what is missing, and what is allowed.
  [[nodiscard]] const json& at(std::string_view member) const;
  [[nodiscard]] bool has(std::string_view member) const;
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const list& items() const;
  [[nodiscard]] const list& items(std::size_t count) const;  // Just so many.

 private:
  friend class json_reader;
  [[noreturn]] void refuse(const std::string& what) const;

  std::variant<std::monostate, bool, double, std::string, list, object> value_;
  std::string where_;  // "run.json: injection.parts[2]", for errors.
};

}  // namespace weft::breakdown
