#include "md/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <weft/error.hpp>

namespace md {

output_file::output_file(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "a")) {
  if (!file_)
    throw weft::error("cannot write '" + path + "': " + std::strerror(errno) +
                      "; check the path and its permissions");
}

void output_file::begin() {
  struct stat what {};
  const int descriptor = ::fileno(file_.get());
  const bool is_kept = ::fstat(descriptor, &what) == 0 && S_ISREG(what.st_mode);
  if (is_kept && ::ftruncate(descriptor, 0) != 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno));
}

void output_file::print(const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int written = std::vfprintf(file_.get(), format, words);
  va_end(words);
  if (written < 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno) +
                      "; is the disk full?");
}

void output_file::flush() {
  if (std::fflush(file_.get()) != 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno) +
                      "; is the disk full?");
}

void write_thermo_header(output_file& csv) {
  csv.print("step,time_ps,temperature_k,kinetic_ev,potential_ev,total_ev,pressure_bar,atoms\n");
}

void write_thermo(output_file& csv, const thermo& t, double picoseconds) {
  csv.print("%llu,%.6g,%.6f,%.9f,%.9f,%.9f,%.6f,%llu\n", static_cast<unsigned long long>(t.step),
            picoseconds, t.temperature, t.kinetic, t.potential, t.total(), t.pressure,
            static_cast<unsigned long long>(t.atoms));
}

void write_frame(output_file& xyz, const std::vector<atom_record>& atoms,
                 const std::string& element, const vec3& box, double picoseconds) {
  xyz.print("%zu\n", atoms.size());
  xyz.print(
      "Lattice=\"%.9g 0 0 0 %.9g 0 0 0 %.9g\" pbc=\"T T T\" Time=%.6g "
      "Properties=species:S:1:pos:R:3:velo:R:3:energy:R:1:rank:I:1:id:I:1\n",
      box.x, box.y, box.z, picoseconds);
  for (const atom_record& a : atoms)
    xyz.print("%s %.9f %.9f %.9f %.9f %.9f %.9f %.9f %d %llu\n", element.c_str(), a.position.x,
              a.position.y, a.position.z, a.velocity.x, a.velocity.y, a.velocity.z, a.energy,
              a.rank, static_cast<unsigned long long>(a.id));
}

progress_bar::progress_bar(std::uint64_t steps)
    : steps_(steps), on_terminal_(isatty(STDERR_FILENO) != 0) {}

void progress_bar::show(std::uint64_t step) {
  if (!on_terminal_) return;
  const auto now = clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  visible_ = true;
  constexpr int width = 40;
  const double share =
      static_cast<double>(step) / static_cast<double>(std::max<std::uint64_t>(steps_, 1));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string bar(static_cast<std::size_t>(share * width), '#');
  bar.resize(width, '.');
  std::fprintf(stderr, "\r[%s] %3.0f %%  step %llu of %llu  %.0f s left \x1b[K", bar.c_str(),
               100 * share, static_cast<unsigned long long>(step),
               static_cast<unsigned long long>(steps_),
               share > 0 ? seconds * (1 - share) / share : 0.0);
}

void progress_bar::clear() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

void energy_trend::add(double step, double energy) {
  steps_.push_back(step);
  energies_.push_back(energy);
}

double energy_trend::relative_drift() const {
  const auto n = static_cast<double>(steps_.size());
  if (n < 2) return 0;
  double mean_step = 0, mean_energy = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    mean_step += steps_[i] / n;
    mean_energy += energies_[i] / n;
  }
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    covariance += (steps_[i] - mean_step) * (energies_[i] - mean_energy);
    variance += (steps_[i] - mean_step) * (steps_[i] - mean_step);
  }
  const double slope = variance > 0 ? covariance / variance : 0.0;
  return slope * (steps_.back() - steps_.front()) / std::abs(mean_energy);
}

}  // namespace md
