// What is not awaited is not sent.
// Expect: nodiscard
#include <weft/tasks.hpp>

weft::future<void> give(weft::channel<int>& to) {
#ifdef MISUSE
  to.async_send(1);
#else
  co_await to.async_send(1);
#endif
  co_return;
}
