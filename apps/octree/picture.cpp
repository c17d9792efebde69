#include "octree/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "front/canvas.hpp"
#include "front/palette.hpp"

namespace octree {
namespace {

using front::canvas;
using front::color;

constexpr color white{255, 255, 255}, ink{40, 44, 52}, mesh{150, 150, 170};
constexpr int margin = 28, title_height = 64, legend_height = 76, panel = 768;

color mixed(const color& a, const color& b, double share) {
  color c{};
  for (std::size_t k = 0; k < 3; ++k)
    c[k] = static_cast<std::uint8_t>(std::lround(a[k] + share * (b[k] - a[k])));
  return c;
}

// The part of a panel from `at` on that is one of `parts` along an edge. Pixels of neighbours touch.
struct span_of_pixels {
  int begin, size;
};
span_of_pixels pixels(int place, int parts) {
  const int begin = panel * place / parts;
  return {begin, panel * (place + 1) / parts - begin};
}

template <class Color>
void draw_panel(canvas& page, int left, const std::vector<plane_leaf>& leaves, color border,
                Color&& color_of) {
  for (const plane_leaf& leaf : leaves) {
    const index3 at = place_of(leaf.key);
    const int parts = width << level_of(leaf.key);
    for (int i = 0; i < width; ++i)
      for (int j = 0; j < width; ++j) {
        const span_of_pixels x = pixels(at[0] * width + i, parts),
                             y = pixels(at[1] * width + j, parts);
        page.fill(left + x.begin, title_height + panel - y.begin - y.size, x.size, y.size,
                  color_of(leaf, leaf.values[static_cast<std::size_t>(width * i + j)]));
      }
  }
  // The lower and left border of each; the others are those of neighbours and the frame.
  for (const plane_leaf& leaf : leaves) {
    const index3 at = place_of(leaf.key);
    const int parts = 1 << level_of(leaf.key);
    const span_of_pixels x = pixels(at[0], parts), y = pixels(at[1], parts);
    page.fill(left + x.begin, title_height + panel - y.begin, x.size, 1, border);
    page.fill(left + x.begin, title_height + panel - y.begin - y.size, 1, y.size, border);
  }
  for (const int edge : {0, panel}) {
    page.fill(left, title_height + edge, panel + 1, 1, ink);
    page.fill(left + edge, title_height, 1, panel + 1, ink);
  }
}

void draw_circle(canvas& page, int left, const plane_circle& circle, color c) {
  constexpr int corners = 90;
  const auto x_of = [&](int corner) {
    return left +
           panel * (circle.x + circle.radius * std::cos(corner * 2 * std::numbers::pi / corners));
  };
  const auto y_of = [&](int corner) {
    return title_height +
           panel *
               (1 - circle.y - circle.radius * std::sin(corner * 2 * std::numbers::pi / corners));
  };
  for (int corner = 0; corner < corners; ++corner)
    page.line(x_of(corner), y_of(corner), x_of(corner + 1), y_of(corner + 1), 1.6, c);
}

}  // namespace

void draw_plane(const std::string& path, const std::vector<plane_leaf>& leaves,
                const std::string& title, const plane_look& look) {
  double low = 1e300, high = -1e300;
  std::vector<int> owners;
  for (const plane_leaf& leaf : leaves) {
    owners.push_back(leaf.owner);
    for (const float value : leaf.values) {
      low = std::min(low, double{value});
      high = std::max(high, double{value});
    }
  }
  std::ranges::sort(owners);
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  if (look.logarithmic) {
    low = std::max(std::log10(low), std::log10(high) - 8);
    high = std::log10(high);
  }
  high = std::max(high, low + 1e-3);

  const int left = margin, right = 2 * margin + panel;
  canvas page(right + panel + margin, title_height + panel + legend_height, white);
  page.text(margin, 22, title, ink, 2);
  const auto share = [&](float value) {
    const double x = look.logarithmic ? std::log10(std::max(double{value}, 1e-300)) : value;
    return (x - low) / (high - low);
  };
  draw_panel(page, left, leaves, white, [&](const plane_leaf& leaf, float value) {
    return mixed(front::rank_color(leaf.owner), white,
                 0.55 * (1 - std::clamp(share(value), 0.0, 1.0)));
  });
  draw_panel(page, right, leaves, mesh,
             [&](const plane_leaf&, float value) { return front::scale_color(share(value)); });
  for (const plane_circle& circle : look.circles) {
    draw_circle(page, left, circle, ink);
    draw_circle(page, right, circle, white);
  }

  const int y = title_height + panel + 44;
  page.text(left, y - 30, std::string("coloured by ") + look.owners, ink);
  int x = left;
  for (const int owner : owners) {
    const std::string name = std::to_string(owner);
    const int needed = 32 + canvas::text_width(name);
    if (x + needed > left + panel - 40) {
      page.text(x, y, "...", ink);
      break;
    }
    page.fill(x, y - 1, 16, 16, front::rank_color(owner));
    page.text(x + 22, y, name, ink);
    x += needed;
  }
  page.text(right, y - 30,
            std::string("coloured by ") + look.values + (look.logarithmic ? ", logarithmic" : ""),
            ink);
  char from[32], to[32];
  const auto print = [&](char(&words)[32], double end) {
    if (look.logarithmic)
      std::snprintf(words, sizeof words, "%.1e", std::pow(10, end));
    else
      std::snprintf(words, sizeof words, "%.2f", end);
  };
  print(from, low);
  print(to, high);
  const int bar = right + canvas::text_width(from) + 8;
  const int bar_width = panel - canvas::text_width(from) - canvas::text_width(to) - 16;
  page.text(right, y, from, ink);
  for (int i = 0; i < bar_width; ++i)
    page.fill(bar + i, y - 1, 1, 16, front::scale_color((i + 0.5) / bar_width));
  page.text(bar + bar_width + 8, y, to, ink);
  page.write_png(path);
}

}  // namespace octree
