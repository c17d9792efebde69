#include "dt/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "front/canvas.hpp"
#include "front/palette.hpp"

namespace dt {
namespace {

using front::canvas;
using front::color;

constexpr color white{255, 255, 255}, ink{40, 44, 52}, edge{170, 174, 184}, waits{232, 234, 238};
constexpr int margin = 28, title_height = 64, legend_height = 76, panel_width = 680, height = 720;

struct activity_look {
  const char* name;
  color look;
};
// In the order of `activity`.
constexpr std::array<activity_look, 5> looks{{{"waits, helps", waits},
                                              {"generates", {214, 39, 40}},
                                              {"adds", {255, 127, 14}},
                                              {"averages", {31, 119, 180}},
                                              {"checks", {44, 160, 44}}}};

struct point {
  double x, y;
};

point place_of(const graph& g, int number) {
  const graph::node& node = g[number];
  const int in_layer = g.layers[static_cast<std::size_t>(node.layer)];
  return {margin + panel_width * (node.place + 0.5) / in_layer,
          title_height + height * (node.layer + 0.5) / static_cast<double>(g.layers.size())};
}

// What a node is busy with for longest.
activity main_work(const graph& g, int number) {
  return g.is_source(number) ? activity::generating
         : g.is_sink(number) ? activity::digesting
                             : activity::averaging;
}

void draw_graph(canvas& page, const graph& g) {
  const int widest = *std::ranges::max_element(g.layers);
  const double radius = std::min(16.0, 0.35 * panel_width / widest);
  for (int from = 0; from < g.size(); ++from)
    for (const int to : g[from].to) {
      const point a = place_of(g, from), b = place_of(g, to);
      page.line(a.x, a.y, b.x, b.y, 1.2, edge);
    }
  for (int number = 0; number < g.size(); ++number) {
    const point at = place_of(g, number);
    page.disc(at.x, at.y, radius, looks[static_cast<std::size_t>(main_work(g, number))].look);
    const std::string name = std::to_string(number);
    if (canvas::text_width(name, 1) < 2 * radius)
      page.text(static_cast<int>(at.x) - canvas::text_width(name, 1) / 2,
                static_cast<int>(at.y) - 3, name, white, 1);
  }
}

// Rows of nodes touch where they are thin.
void draw_intervals(canvas& page, int left, int nodes, const std::vector<interval>& intervals,
                    double seconds) {
  page.fill(left, title_height, panel_width, height, waits);
  const auto x_of = [&](double at) { return static_cast<int>(panel_width * at / seconds); };
  for (const interval& one : intervals) {
    const int top = height * one.node / nodes, bottom = height * (one.node + 1) / nodes;
    const int begin = x_of(one.begin), end = std::max(x_of(one.end), begin + 1);
    page.fill(left + begin, title_height + top, end - begin,
              std::max(1, bottom - top - (bottom - top > 4 ? 1 : 0)),
              looks[static_cast<std::size_t>(one.what)].look);
  }
}

}  // namespace

void draw_wave(const std::string& path, const graph& nodes, const std::vector<interval>& intervals,
               const std::string& title) {
  double seconds = 1e-9;
  for (const interval& one : intervals) seconds = std::max(seconds, one.end);
  // Waiting is the ground that all else lies on.
  std::vector<interval> work;
  std::ranges::copy_if(intervals, std::back_inserter(work),
                       [](const interval& one) { return one.what != activity::waiting; });

  const int right = 2 * margin + panel_width;
  canvas page(right + panel_width + margin, title_height + height + legend_height, white);
  page.text(margin, 22, title, ink, 2);
  draw_graph(page, nodes);
  page.clip(right, title_height, panel_width, height);
  draw_intervals(page, right, nodes.size(), work, seconds);
  page.clip_nothing();

  const int y = title_height + height + 14;
  page.text(margin, y, "streams go from top to bottom", ink);
  char words[64];
  std::snprintf(words, sizeof words, "nodes 0 to %d over %.3f ms", nodes.size() - 1, 1e3 * seconds);
  page.text(right, y, words, ink);
  int x = right;
  for (const activity_look& one : looks) {
    page.fill(x, y + 29, 16, 16, one.look);
    page.text(x + 22, y + 30, one.name, ink);
    x += 22 + canvas::text_width(one.name) + 14;
  }
  page.write_png(path);
}

}  // namespace dt
