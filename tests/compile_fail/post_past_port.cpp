// A face posts to the device of its worker by the port, which counts the message; nothing gives the device away.
// Expect: is private within this context
#include "remote/port.hpp"

weft::status post(weft::worker& here, weft::comm::am& message) {
#ifdef MISUSE
  return weft::comm::post(weft::network::of(here).device_, message);
#else
  return weft::remote::port::of(here).start(message);
#endif
}
