// The model of one small message that "Breaking Band" (ICPP 2019) makes: what it costs to inject it, and
// how long it is under way, as sums of components that are measured one at a time.
#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::breakdown {

// Nanoseconds unless the name says otherwise. The high level is what the program calls (MPI and what
// stands below it), the low level what drives the device. A component that does not exist is 0.
struct components {
  // Low level: the parts of a post.
  double descriptor_setup = 0;
  double descriptor_barrier = 0;
  double doorbell_barrier = 0;
  double pio_copy = 0;
  double post_misc = 0;
  // Low level: the rest.
  double progress = 0;   // It takes this for one entry of the completion queue.
  double busy_post = 0;  // A post that found no room, per message, in the low level's test.
  double measurement_update = 0;  // What that test itself costs per message.
  // Input and output, and the network.
  double pcie = 0;
  double memory_write = 0;             // The target writes the payload.
  double memory_write_completion = 0;  // The initiator gets a completion.
  double wire = 0;
  double network_switch = 0;
  // High level.
  double mpi_post = 0;
  double framework_post = 0;
  double send_progress = 0;       // It takes this for one send, the low level's share included.
  double busy_post_per_send = 0;  // Posts that found no room cost this for each send.
  double framework_callback = 0;  // It runs when a receive has completed.
  double mpi_callback = 0;
  double mpi_after_progress = 0;
  // Counts.
  double signal_period = 1;  // A completion tells of so many posts.
};

struct component_row {
  std::string_view name;
  double components::*value;
  std::string_view meaning;
  bool is_count = false;
};
// All that a file may name, in the order of the paper's table 1.
[[nodiscard]] std::span<const component_row> component_rows() noexcept;

// The table that the paper prints, of a ThunderX2 with a ConnectX-4 through a switch.
[[nodiscard]] const components& published_components();
[[nodiscard]] std::string_view published_text() noexcept;

// Reads lines "name = value  # remark"; `file` names it in errors. Throws weft::error of one line that names
// file, line, component and what is allowed. What the file leaves out is 0.
[[nodiscard]] components read_components(std::string_view text, std::string_view file);
// Throws likewise when the values contradict each other.
void check_components(const components& c, std::string_view file);

// The sums of the paper.
struct prediction {
  double low_post, low_misc, low_injection, low_latency;
  double high_post, post, low_send_progress, high_send_progress, high_receive_progress;
  double injection, latency;
  double network, generate_completion;
  double posts_min;  // Between two polls, so that none waits for a completion.
};
[[nodiscard]] prediction predict(const components& c);

// What the paper observed of its machine, beside the same sum of the model.
struct observation {
  std::string_view name;    // The sum has this name.
  std::string_view figure;  // This figure of the paper shows the sum.
  double prediction::*modelled;
  double ns;
  std::string_view how;
};
[[nodiscard]] std::span<const observation> published_observations() noexcept;
// The error of the model, in per cent of what was observed.
[[nodiscard]] double error_percent(double modelled, double observed) noexcept;

// The cost of one of `window` messages that are posted and then completed, in nanoseconds: below
// posts_min the last completion is waited for.
[[nodiscard]] double injection_in_windows(const components& c, int window);

// A part of a sum.
struct part {
  std::string_view name;
  double ns;
};
// A figure of the paper: bars of parts.
struct bar {
  std::string_view figure;  // "8", "12", ...
  std::string_view name;
  std::vector<part> parts;
  [[nodiscard]] double total() const noexcept;
};
[[nodiscard]] std::vector<bar> figures_of(const components& c);

// What could be made faster: one component, or several at once.
struct improvement {
  std::string_view name;
  std::string_view panel;  // A panel of figure 17: a to d.
  double in_injection;     // Nanoseconds of it that an injection has.
  double in_latency;
};
[[nodiscard]] std::vector<improvement> improvements_of(const components& c);
// The sum falls by so many per cent when that part of it falls by `reduction` (0 to 1).
[[nodiscard]] double gain_percent(double part_ns, double sum_ns, double reduction) noexcept;

}  // namespace weft::breakdown
