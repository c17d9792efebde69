// Starting tasks without ranks.
#pragma once
#include <functional>

namespace weft {

struct options;

// Runs `body` on one of `workers` workers (0: as many as cores), the others take the tasks that it spawns; returns when it
// and all tasks have ended: 0, or 1 after a failure, whose message has then been printed. The form with argv takes the
// --weft-* words out of it first; wrong ones end in a message and status 2. Called by an ordinary thread. The body is
// rank 0 of a job of one rank, or, started by weftrun --processes P, one of P ranks, one in each process.
int run_tasks(int& argc, char** argv, const std::function<void()>& body);
int run_tasks(const options& how, const std::function<void()>& body);

}  // namespace weft
