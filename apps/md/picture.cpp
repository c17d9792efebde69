#include "md/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "front/canvas.hpp"
#include "front/palette.hpp"

namespace md {
namespace {

using front::canvas;
using front::color;
using front::rank_color;
using front::scale_color;

constexpr color white{255, 255, 255}, ink{40, 44, 52}, border{20, 20, 20}, empty{238, 240, 243};
constexpr int margin = 28, title_height = 64, legend_height = 76, panel_longest = 680;
constexpr double atom_radius = 1.28;  // Å, half the distance of neighbours in copper.

struct panel {
  int left, top, width, height;
  double pixels_per_angstrom;
};

void draw_blocks(canvas& page, const panel& p, const process_grid& grid) {
  for (int cut = 0; cut <= grid[0]; ++cut)
    page.fill(p.left + cut * (p.width - 2) / grid[0], p.top, 2, p.height, border);
  for (int cut = 0; cut <= grid[1]; ++cut)
    page.fill(p.left, p.top + cut * (p.height - 2) / grid[1], p.width, 2, border);
}

template <class Color>
void draw_panel(canvas& page, const panel& p, const std::vector<const atom_record*>& atoms,
                const vec3& box, const process_grid& grid, Color&& color_of) {
  page.fill(p.left, p.top, p.width, p.height, empty);
  page.clip(p.left, p.top, p.width, p.height);
  for (const atom_record* a : atoms)
    // Atoms on the border show on both sides of the periodic box.
    for (int image_x = -1; image_x <= 1; ++image_x)
      for (int image_y = -1; image_y <= 1; ++image_y) {
        const double x = a->position.x + image_x * box.x, y = a->position.y + image_y * box.y;
        if (x < -atom_radius || x > box.x + atom_radius || y < -atom_radius ||
            y > box.y + atom_radius)
          continue;
        page.disc(p.left + x * p.pixels_per_angstrom, p.top + (box.y - y) * p.pixels_per_angstrom,
                  atom_radius * p.pixels_per_angstrom, color_of(*a));
      }
  page.clip_nothing();
  draw_blocks(page, p, grid);
}

void draw_rank_legend(canvas& page, const panel& p, const std::vector<int>& ranks) {
  int x = p.left;
  const int y = p.top + p.height + 44;
  page.text(x, p.top + p.height + 14, "coloured by rank", ink);
  for (const int rank : ranks) {
    const std::string name = std::to_string(rank);
    const int width = 22 + canvas::text_width(name) + 10;
    if (x + width > p.left + p.width - 40) {
      page.text(x, y, "...", ink);
      break;
    }
    page.fill(x, y - 1, 16, 16, rank_color(rank));
    page.text(x + 22, y, name, ink);
    x += width;
  }
}

void draw_energy_legend(canvas& page, const panel& p, double low, double high) {
  const int y = p.top + p.height + 44;
  page.text(p.left, p.top + p.height + 14, "coloured by potential energy, eV/atom", ink);
  char from[32], to[32];
  std::snprintf(from, sizeof from, "%.2f", low);
  std::snprintf(to, sizeof to, "%.2f", high);
  const int bar = p.left + canvas::text_width(from) + 8;
  const int bar_width = p.width - canvas::text_width(from) - canvas::text_width(to) - 16;
  page.text(p.left, y, from, ink);
  for (int x = 0; x < bar_width; ++x)
    page.fill(bar + x, y - 1, 1, 16, scale_color((x + 0.5) / bar_width));
  page.text(bar + bar_width + 8, y, to, ink);
}

}  // namespace

void draw_slice(const std::string& path, const std::vector<atom_record>& atoms,
                const process_grid& grid, const vec3& box, double thickness,
                const std::string& title) {
  std::vector<const atom_record*> slice;
  for (const atom_record& a : atoms)
    if (a.position.z < 0.5 * box.z && a.position.z >= 0.5 * box.z - thickness) slice.push_back(&a);
  // The nearest atoms are drawn last.
  std::ranges::sort(slice, {}, [](const atom_record* a) { return a->position.z; });

  // The colours span nearly all energies; single outliers do not stretch them.
  std::vector<double> energies;
  std::vector<int> ranks;
  for (const atom_record* a : slice) {
    energies.push_back(a->energy);
    ranks.push_back(a->rank);
  }
  std::ranges::sort(energies);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const std::size_t n = energies.size();
  const double low = n > 0 ? energies[n / 100] : 0.0;
  const double high = n > 0 ? std::max(energies[n - 1 - n / 100], low + 1e-3) : 1.0;

  const double scale = panel_longest / std::max(box.x, box.y);
  panel left{margin, title_height, static_cast<int>(box.x * scale), static_cast<int>(box.y * scale),
             scale};
  panel right = left;
  right.left += left.width + margin;
  canvas page(right.left + right.width + margin, title_height + left.height + legend_height, white);
  page.text(margin, 22, title, ink, 2);
  draw_panel(page, left, slice, box, grid, [](const atom_record& a) { return rank_color(a.rank); });
  draw_panel(page, right, slice, box, grid,
             [&](const atom_record& a) { return scale_color((a.energy - low) / (high - low)); });
  draw_rank_legend(page, left, ranks);
  draw_energy_legend(page, right, low, high);
  page.write_png(path);
}

}  // namespace md
