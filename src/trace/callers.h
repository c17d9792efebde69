/* A note of where the program called, for stubs that stand between the program and a public function: they lie in the program's
   own file, so a return address in one would be taken for the program's. C: such a stub need not be C++. */
#ifndef WEFT_TRACE_CALLERS_H
#define WEFT_TRACE_CALLERS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Whether calls are traced. Changes only while no worker runs. */
extern unsigned char weft_traces_calls;
/* The next call of a public function on this thread comes from there; null: from wherever it returns to. */
void weft_note_caller(const void* return_address);

#ifdef __cplusplus
}
#else
static inline unsigned char weft_noted_caller(const void* return_address) {
  if (__builtin_expect(weft_traces_calls, 0)) weft_note_caller(return_address);
  return weft_traces_calls;
}
static inline void weft_forget_caller(const unsigned char* is_noted) {
  if (__builtin_expect(*is_noted, 0)) weft_note_caller(0);
}
/* The first statement of a stub. What the stub calls may not have asked. */
#define WEFT_STUB_OF_CALL WEFT_STUB_OF_CALL_FROM(__builtin_return_address(0))
#define WEFT_STUB_OF_CALL_FROM(caller)                                             \
  const unsigned char weft_is_noted __attribute__((cleanup(weft_forget_caller))) = \
      weft_noted_caller(caller)
#endif
#endif
