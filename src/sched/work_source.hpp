// Work for a worker that waits, besides its mail, its ready fibers and the loops of others: tasks. The module that
// knows such work implements it; the scheduler knows no more of it than this. One object per worker. A function is
// called on that worker's own thread, unless its comment says otherwise.
#pragma once
#include <functional>
#include <string>

namespace weft {

class worker;
struct fiber;

class work_source {
 public:
  work_source() = default;
  work_source(const work_source&) = delete;
  work_source& operator=(const work_source&) = delete;
  virtual ~work_source() = default;

  // In every pass, and between two passes while the worker spins: what others have left for this worker, such as
  // news that a fiber may go on. True when something came.
  virtual bool look() noexcept = 0;
  // Takes work of this worker, or of another: returns the fiber that will run it, to which the caller switches and
  // which is in no list; null when there is no work. Throws weft::error when there is no memory for a fiber's stack.
  [[nodiscard]] virtual fiber* take_own() = 0;
  [[nodiscard]] virtual fiber* take_others() = 0;
  // Whether take_own() would find work: then the worker may not park.
  [[nodiscard]] virtual bool has_own() const noexcept = 0;
  // Whether look() would find something: then the worker may not park either.
  [[nodiscard]] virtual bool has_arrivals() const noexcept = 0;
  // Called by any thread, a hint: whether there is work here that another worker could take.
  [[nodiscard]] virtual bool has_surplus() const noexcept = 0;
  // What waits here without a fiber of its own, a line each, for the report of a deadlock.
  virtual void describe(const std::function<void(const std::string&)>& line) const = 0;
};

}  // namespace weft
