// Keeps the atoms near a rank's block up to date, and hands over atoms that leave it.
//
// Three rounds, x, y, z. In each a rank sends to both neighbours along the axis what lies within
// `width` of the common border, ghosts of the earlier rounds included, so that edges and corners
// arrive without messages of their own: 6 messages, not 26. What was chosen by `build` is sent
// again by the forward functions until the next `build`; ghosts are received in their place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include <weft/weft.hpp>

#include "md/atoms.hpp"
#include "md/domain.hpp"

namespace md {

class halo_exchange {
 public:
  halo_exchange(weft::communicator ranks, const domain& where, double width);

  // Sends atoms that have left the block to their new owner and wraps positions into the box. No
  // atom may be further than one block from home. Ghosts are dropped.
  void migrate(atom_store& atoms);
  // Chooses what is sent from now on and appends ghosts and the remote site.
  void build(atom_store& atoms);
  void forward_positions(std::vector<site>& sites);
  void forward_slopes(std::vector<site>& sites);

  // Number of sites in each of the six messages: x low, x high, y low, …
  std::vector<std::size_t> message_subgroups() const;

 private:
  struct direction {
    int to = 0, from = 0, tag = 0;
    int axis = 0;
    double shift = 0;
    std::vector<std::uint32_t> chosen;  // Indices of the sites that are sent.
    std::size_t ghosts_begin = 0, ghosts = 0;
    std::vector<site> subgroups_out;
    std::vector<double> slopes_out, slopes_in;
  };

  template <class Record>
  void exchange(direction* pair, std::vector<Record> (&out)[2], std::vector<Record> (&in)[2]);

  weft::communicator ranks_;
  domain domain_;
  double width_;
  direction directions_[6];
};

}  // namespace md
