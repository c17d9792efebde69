// In place of cuda.cpp, where weft is built without it.
#include "weft/accelerator.hpp"
#include "weft/error.hpp"

namespace weft {

std::unique_ptr<accelerator> make_cuda_accelerator() {
  throw error("this weft was built without CUDA (WEFT_CUDA=OFF): it knows no GPU");
}

}  // namespace weft
