// Hints of files: those that change what weft does, and those that it knows of other libraries, keeps and reports.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "mpi/io/file_state.hpp"

namespace weft::mpi {
namespace {

// Known to mean nothing here. They are reported as they were given.
constexpr std::array<std::string_view, 15> reported_keys{"access_style",
                                                         "cb_block_size",
                                                         "chunked",
                                                         "chunked_item",
                                                         "chunked_size",
                                                         "filename",
                                                         "ind_rd_buffer_size",
                                                         "ind_wr_buffer_size",
                                                         "io_node_list",
                                                         "nb_proc",
                                                         "num_io_nodes",
                                                         "romio_ds_read",
                                                         "romio_ds_write",
                                                         "striping_factor",
                                                         "striping_unit"};

template <class Number>
bool parse(std::string_view text, Number& to, int base = 10) noexcept {
  Number found{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found, base);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  to = found;
  return true;
}

void take_choice(file_hints::choice& to, std::string_view value) noexcept {
  if (value == "enable" || value == "true") to = file_hints::choice::enable;
  if (value == "disable" || value == "false") to = file_hints::choice::disable;
  if (value == "automatic") to = file_hints::choice::automatic;
}
const char* text_of_choice(file_hints::choice c) noexcept {
  switch (c) {
    case file_hints::choice::enable:
      return "enable";
    case file_hints::choice::disable:
      return "disable";
    case file_hints::choice::automatic:
      break;
  }
  return "automatic";
}

}  // namespace

void take_hints(file_hints& to, const info_entries& from) {
  for (const auto& [key, value] : from) {
    if (key == "cb_buffer_size") {
      std::uint64_t bytes = 0;
      if (parse(value, bytes) && bytes != 0 && bytes <= (std::uint64_t{1} << 40))
        to.buffer_bytes = bytes;
    } else if (key == "cb_nodes") {
      int count = 0;
      if (parse(value, count) && count > 0) to.aggregators = count;
    } else if (key == "romio_cb_write") {
      take_choice(to.collective_writes, value);
    } else if (key == "romio_cb_read") {
      take_choice(to.collective_reads, value);
    } else if (key == "collective_buffering") {
      take_choice(to.collective_writes, value);
      take_choice(to.collective_reads, value);
    } else if (key == "file_perm") {
      unsigned mode = 0;
      if (parse(value, mode, 8) && mode <= 07777) to.mode = mode;
    } else if (std::ranges::find(reported_keys, std::string_view(key)) != reported_keys.end()) {
      to.others.set(key, value);
    }
  }
}

info_entries told_hints(const file_state& f) {
  const file_hints& h = f.hints;
  info_object all = h.others;
  all.set("cb_buffer_size", std::to_string(h.buffer_bytes));
  all.set("cb_nodes", std::to_string(f.aggregators.size()));
  all.set("romio_cb_read", text_of_choice(h.collective_reads));
  all.set("romio_cb_write", text_of_choice(h.collective_writes));
  const bool is_off = h.collective_reads == file_hints::choice::disable &&
                      h.collective_writes == file_hints::choice::disable;
  all.set("collective_buffering", is_off ? "false" : "true");
  all.set("file_perm", formatted("{:o}", h.mode));
  return all.entries;
}

}  // namespace weft::mpi
