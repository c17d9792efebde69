#include "md/potential.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <weft/error.hpp>

namespace md {
namespace {

constexpr std::size_t table_points_max = 10'000'000;
// A funcfl file holds an effective charge; its square becomes an energy with these, in LAMMPS'
// digits: hartree in eV and bohr in Å.
constexpr double hartree_ev = 27.2, bohr_angstrom = 0.529;

// A funcfl file names its element by its atomic number only.
constexpr std::array<std::string_view, 118> symbols{
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",
    "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn",
    "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh",
    "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd",
    "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re",
    "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th",
    "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

// The beginning of a word, also of a file that is no text.
std::string legible(std::string_view word) {
  std::string text(word.substr(0, 40));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Hands out words and numbers and knows where in the file each one stood.
class scanner {
 public:
  scanner(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  [[noreturn]] void fail(const std::string& what) const {
    refuse(what +
           "; restore the file (apt install --reinstall lammps-data) or name another with "
           "--potential FILE");
  }
  // For what is no fault of the file: `what` names the remedy too.
  [[noreturn]] void refuse(const std::string& what) const {
    throw weft::error(path_ + ":" + std::to_string(line_) + ":" + std::to_string(column_) + ": " +
                      what);
  }

  void skip_line(const char* meaning) {
    if (at_ >= text_.size()) {
      mark();
      fail(std::string("the file ends where ") + meaning + " should stand");
    }
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    ++next_line_;
    line_start_ = at_;
  }

  std::string word(const std::string& meaning) {
    const auto found = next_word();
    if (found.empty()) fail("the file ends where " + meaning + " should stand");
    return std::string(found);
  }

  double number(const std::string& meaning) {
    const std::string_view found = next_word();
    if (found.empty()) fail("the file ends where " + meaning + " should stand");
    std::string spelled(found.front() == '+' ? found.substr(1) : found);
    // Fortran writes 1.0D+00.
    std::replace_if(
        spelled.begin(), spelled.end(), [](char c) { return c == 'D' || c == 'd'; }, 'e');
    double value = 0;
    const auto [end, error] =
        std::from_chars(spelled.data(), spelled.data() + spelled.size(), value);
    if (error != std::errc{} || end != spelled.data() + spelled.size() || !std::isfinite(value))
      fail("expected a number for " + meaning + ", found '" + legible(found) + "'");
    return value;
  }

  double positive(const std::string& meaning) {
    const double value = number(meaning);
    if (value <= 0) fail(meaning + " is " + std::to_string(value) + " but must be positive");
    return value;
  }

  std::size_t count(const std::string& meaning, std::size_t least, std::size_t most) {
    const double value = number(meaning);
    if (value != std::floor(value) || value < static_cast<double>(least) ||
        value > static_cast<double>(most))
      fail(meaning + " must be a whole number from " + std::to_string(least) + " to " +
           std::to_string(most));
    return static_cast<std::size_t>(value);
  }

  std::vector<double> table(std::size_t points, const std::string& meaning) {
    std::vector<double> values(points);
    for (std::size_t i = 0; i < points; ++i)
      values[i] = number("value " + std::to_string(i + 1) + " of " + std::to_string(points) +
                         " of " + meaning);
    return values;
  }

  void expect_end() {
    if (!next_word().empty())
      fail("expected the end of the file; the header promises fewer values than there are");
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  // Where an error would be reported: the next character.
  void mark() {
    line_ = next_line_;
    column_ = at_ - line_start_ + 1;
  }

  std::string_view next_word() {
    for (; at_ < text_.size() && is_space(text_[at_]); ++at_)
      if (text_[at_] == '\n') {
        ++next_line_;
        line_start_ = at_ + 1;
      }
    mark();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_])) ++at_;
    return std::string_view(text_).substr(begin, at_ - begin);
  }

  std::string path_, text_;
  std::size_t at_ = 0, line_start_ = 0, next_line_ = 1;
  std::size_t line_ = 1, column_ = 1;
};

std::string find_file(const std::string& name) {
  namespace fs = std::filesystem;
  const auto is_file = [](const std::string& path) {
    std::error_code none;
    return fs::is_regular_file(path, none);
  };
  if (name.find('/') != std::string::npos) {
    if (is_file(name)) return name;
    std::error_code why;
    throw weft::error("cannot read potential file '" + name + "': " +
                      (fs::exists(name, why) ? "not a regular file"
                       : why                 ? why.message()
                                             : "no such file") +
                      "; check the path given with --potential");
  }
  std::vector<std::string> places{"."};
  if (const char* set = std::getenv("LAMMPS_POTENTIALS")) places.emplace_back(set);
  places.emplace_back("/usr/share/lammps/potentials");
  std::string tried;
  for (const auto& place : places) {
    const auto path = (fs::path(place) / name).lexically_normal().string();
    if (is_file(path)) return path;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  throw weft::error("cannot find potential file '" + name + "' in " + tried +
                    "; install it (apt install lammps-data) or give a path with --potential");
}

std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof())
    throw weft::error("cannot read potential file '" + path + "'; check its permissions");
  return text;
}

eam_potential read_setfl(scanner in, const std::string& element) {
  eam_potential p;
  for (int i = 0; i < 3; ++i) in.skip_line("a comment line");
  const std::size_t elements = in.count("the number of elements", 1, 100);
  std::size_t wanted = elements;
  std::string names;
  for (std::size_t e = 0; e < elements; ++e) {
    const std::string name = in.word("the name of element " + std::to_string(e + 1));
    names += (e ? ", " : "") + name;
    if (name == element) wanted = e;
  }
  if (wanted == elements)
    in.refuse("the file describes " + names + " but not " + element +
              "; name one that it describes with --element NAME, or another file with --potential "
              "FILE");
  const std::size_t density_points = in.count("the number of F values", 5, table_points_max);
  p.density_step = in.positive("the step of F");
  const std::size_t distance_points = in.count("the number of rho values", 5, table_points_max);
  p.distance_step = in.positive("the step of rho");
  p.cutoff = in.positive("the cutoff");
  p.element = element;
  for (std::size_t e = 0; e < elements; ++e) {
    const std::string of = "element " + std::to_string(e + 1);
    in.positive("the atomic number of " + of);
    const double mass = in.positive("the mass of " + of);
    const double lattice_constant = in.number("the lattice constant of " + of);
    const std::string structure = in.word("the lattice of " + of);
    const auto embedding = in.table(density_points, "F of " + of);
    const auto density = in.table(distance_points, "rho of " + of);
    if (e != wanted) continue;
    p.mass = mass;
    p.lattice_constant = lattice_constant;
    p.structure = structure;
    p.embedding = spline_of(embedding);
    p.density = spline_of(density);
  }
  for (std::size_t a = 0; a < elements; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const auto pair = in.table(distance_points, "r*phi of elements " + std::to_string(a + 1) +
                                                      " and " + std::to_string(b + 1));
      if (a == wanted && b == wanted) p.pair_times_r = spline_of(pair);
    }
  in.expect_end();
  return p;
}

eam_potential read_funcfl(scanner in, const std::string& element) {
  eam_potential p;
  in.skip_line("a comment line");
  const std::string found(symbols[in.count("the atomic number", 1, symbols.size()) - 1]);
  if (found != element)
    in.refuse("the file describes " + found + " but not " + element + "; name it with --element " +
              found + ", or another file with --potential FILE");
  p.mass = in.positive("the mass");
  p.lattice_constant = in.number("the lattice constant");
  p.structure = in.word("the lattice");
  const std::size_t density_points = in.count("the number of F values", 6, table_points_max);
  p.density_step = in.positive("the step of F");
  const std::size_t distance_points = in.count("the number of rho values", 6, table_points_max);
  p.distance_step = in.positive("the step of rho");
  p.cutoff = in.positive("the cutoff");
  p.element = element;
  auto embedding = in.table(density_points, "F");
  auto charge = in.table(distance_points, "Z");
  auto density = in.table(distance_points, "rho");
  in.expect_end();
  for (double& z : charge) z = hartree_ev * bohr_angstrom * z * z;
  // LAMMPS leaves out the last point of a funcfl table; so do we, to have the same slopes.
  for (auto* table : {&embedding, &charge, &density}) table->pop_back();
  p.embedding = spline_of(embedding);
  p.density = spline_of(density);
  p.pair_times_r = spline_of(charge);
  return p;
}

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

std::vector<cubic> spline_of(const std::vector<double>& f) {
  const std::size_t n = f.size();
  std::vector<double> slope(n);
  for (std::size_t m = 2; m + 2 < n; ++m)
    slope[m] = ((f[m - 2] - f[m + 2]) + 8.0 * (f[m + 1] - f[m - 1])) / 12.0;
  slope[0] = f[1] - f[0];
  slope[1] = 0.5 * (f[2] - f[0]);
  slope[n - 2] = 0.5 * (f[n - 1] - f[n - 3]);
  slope[n - 1] = f[n - 1] - f[n - 2];
  std::vector<cubic> pieces(n - 1);
  for (std::size_t m = 0; m + 1 < n; ++m) {
    const double rise = f[m + 1] - f[m];
    pieces[m] = {f[m], slope[m], 3.0 * rise - 2.0 * slope[m] - slope[m + 1],
                 slope[m] + slope[m + 1] - 2.0 * rise};
  }
  return pieces;
}

eam_potential read_potential(const std::string& name, const std::string& element) {
  const bool setfl = ends_with_any(name, {".eam.alloy", ".setfl"});
  if (!setfl && !ends_with_any(name, {".eam", ".funcfl"}))
    throw weft::error("cannot tell the format of potential file '" + name +
                      "': the name must end in .eam.alloy or .setfl (setfl), .eam or .funcfl " +
                      "(funcfl)");
  const std::string path = find_file(name);
  scanner in(path, read_whole(path));
  eam_potential p = setfl ? read_setfl(in, element) : read_funcfl(in, element);
  p.path = path;
  return p;
}

}  // namespace md
