#!/usr/bin/env python3
"""Writes OpenSHMEM's C face from one table of types and templates.

    generate.py headers DIRECTORY      shmem.h, shmemx.h, pshmem.h, mpp/shmem.h, as in include/shmem
    generate.py shells DIRECTORY       shells_*.cpp: each function as pshmem_X with the weak name shmem_X
    generate.py callers DIRECTORY      declared_*.c: programs that call every function of a section
    generate.py names                  what the library exports, one name a line

A template is a name in which {T} stands for the name of a type and {N} for bits, and {C} for "ctx_" or
nothing: then there are two functions, of which the first takes a context. A shell is one call of core.hpp.
"""
import re
import sys
from pathlib import Path

TYPES = {
    "float": "float", "double": "double", "longdouble": "long double", "char": "char", "schar": "signed char",
    "short": "short", "int": "int", "long": "long", "longlong": "long long", "uchar": "unsigned char",
    "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long", "ulonglong": "unsigned long long",
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "size": "size_t", "ptrdiff": "ptrdiff_t",
    "complexd": "weft_shmem_complexd", "complexf": "weft_shmem_complexf",
}
# Those that are no other name of one before them, for _Generic.
DISTINCT = {"float", "double", "longdouble", "char", "schar", "short", "int", "long", "longlong", "uchar", "ushort", "uint",
            "ulong", "ulonglong", "complexd", "complexf"}
# What others are on every machine of ours; their row where a template has the other name alone.
SAME = {"int8": "schar", "int16": "short", "int32": "int", "int64": "long"}
RMA = [t for t in TYPES if not t.startswith("complex")]
WORDS = ["int", "long", "longlong", "uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64", "size", "ptrdiff"]
AMO = ["float", "double"] + WORDS
BITS = ["uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64"]
REDUCE_BITS = ["uchar", "ushort", "uint", "ulong", "ulonglong", "int8", "int16", "int32", "int64", "uint8", "uint16",
               "uint32", "uint64", "size"]
SUMS = RMA + ["complexd", "complexf"]
OLD = ["int", "long", "longlong"]
OLD_AMO = ["float", "double"] + OLD
TO_ALL_BITS = ["short"] + OLD
TO_ALL = TO_ALL_BITS + ["float", "double", "longdouble"]
# Deprecated generics, by what is called today. They take the types that came later as well: programs use them so.
OLD_GENERICS = {"shmem_fetch": "fetch", "shmem_set": "set", "shmem_cswap": "compare_swap", "shmem_swap": "swap",
                "shmem_finc": "fetch_inc", "shmem_inc": "inc", "shmem_fadd": "fetch_add", "shmem_add": "add"}
SIZES = ["8", "16", "32", "64", "128"]
HALVES = ["32", "64"]

# (section, file of shells, [(types, result, template, parameters, core call)]). In a core call {n} is the
# function's name in quotes, {x} the context.
ACTIVE = "int PE_start, int logPE_stride, int PE_size"
SET = "PE_start, logPE_stride, PE_size"
TABLE = []


def section(title, file, *rows):
    TABLE.append((title, file, rows))


section("Library setup, exit, and queries", "setup",
        (None, "void", "shmem_init", "void", "init({n}, SHMEM_THREAD_SINGLE)"),
        (None, "int", "shmem_my_pe", "void", "my_pe({n})"),
        (None, "int", "shmem_n_pes", "void", "n_pes({n})"),
        (None, "void", "shmem_finalize", "void", "finalize({n})"),
        (None, "void", "shmem_global_exit", "int status", "global_exit({n}, status)"),
        (None, "int", "shmem_pe_accessible", "int pe", "pe_accessible({n}, pe)"),
        (None, "int", "shmem_addr_accessible", "const void* addr, int pe", "addr_accessible({n}, addr, pe)"),
        (None, "void*", "shmem_ptr", "const void* dest, int pe", "pointer_to({n}, dest, pe)"),
        (None, "void*", "shmem_team_ptr", "shmem_team_t team, const void* dest, int pe",
         "team_pointer_to({n}, team, dest, pe)"),
        (None, "void", "shmem_info_get_version", "int* major, int* minor", "get_version(major, minor)"),
        (None, "void", "shmem_info_get_name", "char* name", "get_name(name)"),
        (None, "void", "shmem_query_initialized", "int* initialized", "query_initialized(initialized)"),
        (None, "int", "shmem_init_thread", "int requested, int* provided", "init_thread({n}, requested, provided)"),
        (None, "void", "shmem_query_thread", "int* provided", "query_thread({n}, provided)"),
        (None, "void", "shmem_pcontrol", "int level, ...", "ignore(level)"),
        (None, "void", "start_pes", "int npes", "start({n}, npes)"),
        (None, "int", "_my_pe", "void", "my_pe({n})"),
        (None, "int", "_num_pes", "void", "n_pes({n})"))

section("Symmetric memory", "setup",
        (None, "void*", "shmem_malloc", "size_t size", "allocate({n}, size, 0, 0)"),
        (None, "void", "shmem_free", "void* ptr", "deallocate({n}, ptr)"),
        (None, "void*", "shmem_realloc", "void* ptr, size_t size", "reallocate({n}, ptr, size)"),
        (None, "void*", "shmem_align", "size_t alignment, size_t size", "allocate_aligned({n}, alignment, size)"),
        (None, "void*", "shmem_malloc_with_hints", "size_t size, long hints", "allocate({n}, size, 0, hints)"),
        (None, "void*", "shmem_calloc", "size_t count, size_t size", "allocate_zeroed({n}, count, size)"),
        (None, "void*", "shmalloc", "size_t size", "allocate({n}, size, 0, 0)"),
        (None, "void", "shfree", "void* ptr", "deallocate({n}, ptr)"),
        (None, "void*", "shrealloc", "void* ptr, size_t size", "reallocate({n}, ptr, size)"),
        (None, "void*", "shmemalign", "size_t alignment, size_t size", "allocate_aligned({n}, alignment, size)"))

section("Teams and contexts", "setup",
        (None, "int", "shmem_team_my_pe", "shmem_team_t team", "team_my_pe({n}, team)"),
        (None, "int", "shmem_team_n_pes", "shmem_team_t team", "team_n_pes({n}, team)"),
        (None, "int", "shmem_team_get_config", "shmem_team_t team, long config_mask, shmem_team_config_t* config",
         "team_get_config({n}, team, config_mask, config)"),
        (None, "int", "shmem_team_translate_pe", "shmem_team_t src_team, int src_pe, shmem_team_t dest_team",
         "team_translate_pe({n}, src_team, src_pe, dest_team)"),
        (None, "int", "shmem_team_split_strided", "shmem_team_t parent_team, int start, int stride, int size, "
         "const shmem_team_config_t* config, long config_mask, shmem_team_t* new_team",
         "team_split_strided({n}, parent_team, start, stride, size, config, config_mask, new_team)"),
        (None, "int", "shmem_team_split_2d", "shmem_team_t parent_team, int xrange, "
         "const shmem_team_config_t* xaxis_config, long xaxis_mask, shmem_team_t* xaxis_team, "
         "const shmem_team_config_t* yaxis_config, long yaxis_mask, shmem_team_t* yaxis_team",
         "team_split_2d({n}, parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, "
         "yaxis_team)"),
        (None, "void", "shmem_team_destroy", "shmem_team_t team", "team_destroy({n}, team)"),
        (None, "int", "shmem_ctx_create", "long options, shmem_ctx_t* ctx",
         "context_create({n}, SHMEM_TEAM_WORLD, options, ctx)"),
        (None, "int", "shmem_team_create_ctx", "shmem_team_t team, long options, shmem_ctx_t* ctx",
         "context_create({n}, team, options, ctx)"),
        (None, "void", "shmem_ctx_destroy", "shmem_ctx_t ctx", "context_destroy({n}, ctx)"),
        (None, "int", "shmem_ctx_get_team", "shmem_ctx_t ctx, shmem_team_t* team", "context_get_team({n}, ctx, team)"),
        (None, "void", "shmem_ctx_session_start", "shmem_ctx_t ctx, long options, "
         "const shmem_ctx_session_config_t* config, long config_mask",
         "session_start({n}, ctx, options, config, config_mask)"),
        (None, "void", "shmem_ctx_session_stop", "shmem_ctx_t ctx", "session_stop({n}, ctx)"))

MOVE = "{T}* dest, const {T}* source, size_t nelems, int pe"
STRIDES = "{T}* dest, const {T}* source, ptrdiff_t dst, ptrdiff_t sst, "


def moves(kind, infix, core):
    """The three forms of a call that moves elements: typed, by bits, in bytes."""
    call = core + "({n}, {x}, dest, source, nelems, {s}, pe)"
    return [(RMA, "void", f"shmem_{{C}}{{T}}_{kind}{infix}", MOVE, call),
            (SIZES, "void", f"shmem_{{C}}{kind}{{N}}{infix}", MOVE, call),
            (None, "void", f"shmem_{{C}}{kind}mem{infix}", MOVE, call)]


def strided(kind, core):
    call = core + "({n}, {x}, dest, source, dst, sst, 1, nelems, {s}, pe)"
    blocks = core + "({n}, {x}, dest, source, dst, sst, bsize, nblocks, {s}, pe)"
    return [(RMA, "void", f"shmem_{{C}}{{T}}_i{kind}", STRIDES + "size_t nelems, int pe", call),
            (SIZES, "void", f"shmem_{{C}}i{kind}{{N}}", STRIDES + "size_t nelems, int pe", call),
            (RMA, "void", f"shmem_{{C}}{{T}}_ib{kind}", STRIDES + "size_t bsize, size_t nblocks, int pe", blocks),
            (SIZES, "void", f"shmem_{{C}}ib{kind}{{N}}", STRIDES + "size_t bsize, size_t nblocks, int pe", blocks)]


section("Remote memory access", "access",
        *moves("put", "", "put"),
        (RMA, "void", "shmem_{C}{T}_p", "{T}* dest, {T} value, int pe", "put_value({n}, {x}, dest, value, pe)"),
        *strided("put", "put_strided"),
        *moves("get", "", "get"),
        (RMA, "{T}", "shmem_{C}{T}_g", "const {T}* source, int pe", "get_value({n}, {x}, source, pe)"),
        *strided("get", "get_strided"),
        *moves("put", "_nbi", "put_nbi"),
        *moves("get", "_nbi", "get_nbi"))

DEST = "{T}* dest, "
section("Atomic memory operations", "atomics",
        (AMO, "{T}", "shmem_{C}{T}_atomic_fetch", "const {T}* source, int pe", "atomic_fetch({n}, {x}, source, pe)"),
        (AMO, "void", "shmem_{C}{T}_atomic_set", DEST + "{T} value, int pe", "atomic_set({n}, {x}, dest, value, pe)"),
        (WORDS, "{T}", "shmem_{C}{T}_atomic_compare_swap", DEST + "{T} cond, {T} value, int pe",
         "atomic_compare_swap({n}, {x}, dest, cond, value, pe)"),
        (AMO, "{T}", "shmem_{C}{T}_atomic_swap", DEST + "{T} value, int pe", "atomic_swap({n}, {x}, dest, value, pe)"),
        (WORDS, "{T}", "shmem_{C}{T}_atomic_fetch_inc", DEST + "int pe",
         "atomic_fetch_op<core::op_add>({n}, {x}, dest, {T}{1}, pe)"),
        (WORDS, "void", "shmem_{C}{T}_atomic_inc", DEST + "int pe", "atomic_op<core::op_add>({n}, {x}, dest, {T}{1}, pe)"),
        *[row for op, types in (("add", WORDS), ("and", BITS), ("or", BITS), ("xor", BITS)) for row in (
            (types, "{T}", f"shmem_{{C}}{{T}}_atomic_fetch_{op}", DEST + "{T} value, int pe",
             f"atomic_fetch_op<core::op_{op}>({{n}}, {{x}}, dest, value, pe)"),
            (types, "void", f"shmem_{{C}}{{T}}_atomic_{op}", DEST + "{T} value, int pe",
             f"atomic_op<core::op_{op}>({{n}}, {{x}}, dest, value, pe)"))],
        (AMO, "void", "shmem_{C}{T}_atomic_fetch_nbi", "{T}* fetch, const {T}* source, int pe",
         "atomic_fetch_nbi({n}, {x}, fetch, source, pe)"),
        (WORDS, "void", "shmem_{C}{T}_atomic_compare_swap_nbi", "{T}* fetch, {T}* dest, {T} cond, {T} value, int pe",
         "atomic_compare_swap_nbi({n}, {x}, fetch, dest, cond, value, pe)"),
        (AMO, "void", "shmem_{C}{T}_atomic_swap_nbi", "{T}* fetch, {T}* dest, {T} value, int pe",
         "atomic_swap_nbi({n}, {x}, fetch, dest, value, pe)"),
        (WORDS, "void", "shmem_{C}{T}_atomic_fetch_inc_nbi", "{T}* fetch, {T}* dest, int pe",
         "atomic_fetch_op_nbi<core::op_add>({n}, {x}, fetch, dest, {T}{1}, pe)"),
        *[(types, "void", f"shmem_{{C}}{{T}}_atomic_fetch_{op}_nbi", "{T}* fetch, {T}* dest, {T} value, int pe",
           f"atomic_fetch_op_nbi<core::op_{op}>({{n}}, {{x}}, fetch, dest, value, pe)")
          for op, types in (("add", WORDS), ("and", BITS), ("or", BITS), ("xor", BITS))],
        # Deprecated names.
        (OLD_AMO, "{T}", "shmem_{T}_fetch", "const {T}* source, int pe", "atomic_fetch({n}, {x}, source, pe)"),
        (OLD_AMO, "void", "shmem_{T}_set", DEST + "{T} value, int pe", "atomic_set({n}, {x}, dest, value, pe)"),
        (OLD, "{T}", "shmem_{T}_cswap", DEST + "{T} cond, {T} value, int pe",
         "atomic_compare_swap({n}, {x}, dest, cond, value, pe)"),
        (OLD_AMO, "{T}", "shmem_{T}_swap", DEST + "{T} value, int pe", "atomic_swap({n}, {x}, dest, value, pe)"),
        (OLD, "{T}", "shmem_{T}_finc", DEST + "int pe", "atomic_fetch_op<core::op_add>({n}, {x}, dest, {T}{1}, pe)"),
        (OLD, "void", "shmem_{T}_inc", DEST + "int pe", "atomic_op<core::op_add>({n}, {x}, dest, {T}{1}, pe)"),
        (OLD, "{T}", "shmem_{T}_fadd", DEST + "{T} value, int pe", "atomic_fetch_op<core::op_add>({n}, {x}, dest, value, pe)"),
        (OLD, "void", "shmem_{T}_add", DEST + "{T} value, int pe", "atomic_op<core::op_add>({n}, {x}, dest, value, pe)"))

SIGNAL = "{T}* dest, const {T}* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe"


def signals(infix, core):
    call = core + "({n}, {x}, dest, source, nelems, {s}, sig_addr, signal, sig_op, pe)"
    return [(RMA, "void", f"shmem_{{C}}{{T}}_put_signal{infix}", SIGNAL, call),
            (SIZES, "void", f"shmem_{{C}}put{{N}}_signal{infix}", SIGNAL, call),
            (None, "void", f"shmem_{{C}}putmem_signal{infix}", SIGNAL, call)]


section("Signals", "access",
        *signals("", "put_signal"), *signals("_nbi", "put_signal_nbi"),
        (None, "uint64_t", "shmem_signal_fetch", "const uint64_t* sig_addr", "signal_fetch({n}, sig_addr)"),
        (None, "void", "shmem_{C}signal_set", "uint64_t* sig_addr, uint64_t signal, int pe",
         "signal_update({n}, {x}, sig_addr, signal, SHMEM_SIGNAL_SET, pe)"),
        (None, "void", "shmem_{C}signal_add", "uint64_t* sig_addr, uint64_t signal, int pe",
         "signal_update({n}, {x}, sig_addr, signal, SHMEM_SIGNAL_ADD, pe)"))

TEAM = "shmem_team_t team, {T}* dest, const {T}* source, "
PSYNC = ", long* pSync"
PLAIN = "void* dest, const void* source, "


def gathers(kind, parameters, arguments):
    call = f"team_{kind}({{n}}, team, dest, source, {arguments})"
    return [(RMA, "int", f"shmem_{{T}}_{kind}", TEAM + parameters, call),
            (None, "int", f"shmem_{kind}mem", TEAM + parameters, call)]


section("Collectives", "collectives",
        (None, "void", "shmem_barrier_all", "void", "barrier_all({n})"),
        (None, "void", "shmem_sync_all", "void", "sync_all({n})"),
        (None, "int", "shmem_team_sync", "shmem_team_t team", "team_sync({n}, team)"),
        (None, "void", "shmem_barrier", ACTIVE + PSYNC, "set_barrier({n}, " + SET + ")"),
        (None, "void", "shmem_sync", ACTIVE + PSYNC, "set_sync({n}, " + SET + ")"),
        *gathers("alltoall", "size_t nelems", "nelems, {s}"),
        *gathers("alltoalls", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", "dst, sst, nelems, {s}"),
        *gathers("broadcast", "size_t nelems, int PE_root", "nelems, {s}, PE_root"),
        *gathers("collect", "size_t nelems", "nelems, {s}"),
        *gathers("fcollect", "size_t nelems", "nelems, {s}"),
        (HALVES, "void", "shmem_alltoall{N}", PLAIN + "size_t nelems, " + ACTIVE + PSYNC,
         "set_alltoall({n}, dest, source, nelems, {s}, " + SET + ")"),
        (HALVES, "void", "shmem_alltoalls{N}", PLAIN + "ptrdiff_t dst, ptrdiff_t sst, size_t nelems, " + ACTIVE + PSYNC,
         "set_alltoalls({n}, dest, source, dst, sst, nelems, {s}, " + SET + ")"),
        (HALVES, "void", "shmem_broadcast{N}", PLAIN + "size_t nelems, int PE_root, " + ACTIVE + PSYNC,
         "set_broadcast({n}, dest, source, nelems, {s}, PE_root, " + SET + ")"),
        (HALVES, "void", "shmem_collect{N}", PLAIN + "size_t nelems, " + ACTIVE + PSYNC,
         "set_collect({n}, dest, source, nelems, {s}, " + SET + ")"),
        (HALVES, "void", "shmem_fcollect{N}", PLAIN + "size_t nelems, " + ACTIVE + PSYNC,
         "set_fcollect({n}, dest, source, nelems, {s}, " + SET + ")"))
OPERATIONS = (("and", REDUCE_BITS, TO_ALL_BITS, "std::bit_and<>"), ("or", REDUCE_BITS, TO_ALL_BITS, "std::bit_or<>"),
              ("xor", REDUCE_BITS, TO_ALL_BITS, "std::bit_xor<>"), ("max", RMA, TO_ALL, "weft::max"),
              ("min", RMA, TO_ALL, "weft::min"), ("sum", SUMS, TO_ALL + ["complexd", "complexf"], "std::plus<>"),
              ("prod", SUMS, TO_ALL + ["complexd", "complexf"], "std::multiplies<>"))
section("Reductions and scans", "reductions",
        *[row for op, types, old, function in OPERATIONS for row in (
            (types, "int", f"shmem_{{T}}_{op}_reduce", TEAM + "size_t nreduce",
             f"team_reduce<{function}>({{n}}, team, dest, source, nreduce)"),
            (old, "void", f"shmem_{{T}}_{op}_to_all", "{T}* dest, const {T}* source, int nreduce, " + ACTIVE
             + ", {T}* pWrk" + PSYNC, f"set_reduce<{function}>({{n}}, dest, source, nreduce, {SET})"))],
        (SUMS, "int", "shmem_{T}_sum_inscan", TEAM + "size_t nelems", "team_scan({n}, team, dest, source, nelems, true)"),
        (SUMS, "int", "shmem_{T}_sum_exscan", TEAM + "size_t nelems", "team_scan({n}, team, dest, source, nelems, false)"))

VARIABLES = "{T}* ivars, size_t nelems, "


def waits(kind, result):
    rows = [(WORDS, "int" if kind == "test" else "void", f"shmem_{{T}}_{kind}", "{T}* ivar, int cmp, {T} cmp_value",
             f"{kind}_word({{n}}, ivar, cmp, cmp_value)")]
    for vector in ("", "_vector"):
        value = "{T}* cmp_values" if vector else "{T} cmp_value"
        argument = "cmp_values" if vector else "cmp_value"
        for which, more in (("all", ""), ("any", ""), ("some", "size_t* indices, ")):
            rows.append((WORDS, result if which == "all" else "size_t", f"shmem_{{T}}_{kind}_{which}{vector}",
                         VARIABLES + more + "const int* status, int cmp, " + value,
                         f"{kind}_{which}({{n}}, ivars, nelems, {'indices, ' if more else ''}status, cmp, {argument})"))
    return rows


section("Point-to-point synchronization", "waiting",
        *waits("wait_until", "void"), *waits("test", "int"),
        (None, "uint64_t", "shmem_signal_wait_until", "uint64_t* sig_addr, int cmp, uint64_t cmp_value",
         "signal_wait_until({n}, sig_addr, cmp, cmp_value)"),
        (["short", "ushort"], "void", "shmem_{T}_wait_until", "{T}* ivar, int cmp, {T} cmp_value",
         "wait_until_word({n}, ivar, cmp, cmp_value)"),
        (["short", "ushort"], "int", "shmem_{T}_test", "{T}* ivar, int cmp, {T} cmp_value",
         "test_word({n}, ivar, cmp, cmp_value)"),
        (None, "void", "shmem_wait_until", "long* ivar, int cmp, long cmp_value",
         "wait_until_word({n}, ivar, cmp, cmp_value)"),
        (["short"] + OLD, "void", "shmem_{T}_wait", "{T}* ivar, {T} cmp_value",
         "wait_until_word({n}, ivar, SHMEM_CMP_NE, cmp_value)"),
        (None, "void", "shmem_wait", "long* ivar, long cmp_value", "wait_until_word({n}, ivar, SHMEM_CMP_NE, cmp_value)"))

section("Memory ordering", "access",
        (None, "void", "shmem_fence", "void", "fence({n}, SHMEM_CTX_DEFAULT)"),
        (None, "void", "shmem_ctx_fence", "shmem_ctx_t ctx", "fence({n}, ctx)"),
        (None, "void", "shmem_quiet", "void", "quiet({n}, SHMEM_CTX_DEFAULT)"),
        (None, "void", "shmem_ctx_quiet", "shmem_ctx_t ctx", "quiet({n}, ctx)"),
        (None, "void", "shmem_{C}pe_quiet", "const int* target_pes, size_t npes", "pe_quiet({n}, {x}, target_pes, npes)"))

section("Locks", "setup",
        (None, "void", "shmem_set_lock", "long* lock", "set_lock({n}, lock)"),
        (None, "void", "shmem_clear_lock", "long* lock", "clear_lock({n}, lock)"),
        (None, "int", "shmem_test_lock", "long* lock", "test_lock({n}, lock)"))

# Declared in shmemx.h.
EXTENSIONS = "Active messages"
section(EXTENSIONS, "setup",
        (None, "void", "shmemx_am_set_handler", "shmemx_am_handler_t handler, void* args_r, int* id",
         "am_set_handler({n}, handler, args_r, id)"),
        (None, "void", "shmemx_am_set_handler_all", "shmemx_am_handler_t handler, void* args_r, int* id",
         "am_set_handler_all({n}, handler, args_r, id)"),
        (None, "void", "shmemx_am_send_nbi", "int id, void* payload, size_t length, int pe",
         "am_send({n}, SHMEM_CTX_DEFAULT, id, payload, length, pe)"),
        (None, "void", "shmemx_ctx_am_send_nbi", "shmem_ctx_t ctx, int id, void* payload, size_t length, int pe",
         "am_send({n}, ctx, id, payload, length, pe)"),
        (None, "int", "shmemx_am_try_send_nbi", "int id, void* payload, size_t length, int pe",
         "am_try_send({n}, id, payload, length, pe)"),
        (None, "int", "shmemx_am_poll", "void* args_p", "am_poll({n}, args_p)"),
        (None, "void", "shmemx_am_wait", "void* args_p", "am_wait({n}, args_p)"),
        (None, "void", "shmemx_am_reply", "void* data, size_t length", "am_reply({n}, data, length)"),
        (None, "size_t", "shmemx_am_call", "int id, void* payload, size_t length, int pe, void* reply, size_t reply_max, "
         "void* args_p", "am_call({n}, id, payload, length, pe, reply, reply_max, args_p)"),
        (None, "void", "shmemx_am_quiet", "void* args_p", "am_quiet({n}, args_p)"),
        (None, "void", "shmemx_am_barrier_all", "void* args_p", "am_barrier_all({n}, args_p)"),
        (None, "size_t", "shmemx_am_payload_max", "void", "am_payload_max({n})"))


class Function:
    def __init__(self, title, file, row, variant, ctx):
        types, result, template, parameters, core = row
        self.title, self.file = title, file
        self.type = variant if variant and not variant.isdigit() else None
        c_type = TYPES[variant] if self.type else "void"
        size = f"sizeof({c_type})" if self.type else str(int(variant) // 8) if variant else "1"

        def fill(text):
            return text.replace("{T}{1}", f"static_cast<{c_type}>(1)").replace("{T}", c_type)
        self.name = (template.replace("{C}", "ctx_" if ctx else "").replace("{T}", variant or "").replace("{N}", variant or ""))
        self.template = template
        self.types = types
        self.row_core = core
        self.result = fill(result)
        self.parameters = fill(("shmem_ctx_t ctx, " if ctx else "") + parameters)
        self.core = (fill(core).replace("{n}", f'"{self.name}"').replace("{x}", "ctx" if ctx else "SHMEM_CTX_DEFAULT")
                     .replace("{s}", size))
        self.twin = "p" + self.name
        self.has_ctx = ctx

    def declaration(self, name):
        return f"{self.result} {name}({self.parameters});"

    def shell(self):
        back = "" if self.result == "void" else "return "
        used = self.core
        parameters = self.parameters
        if parameters != "void":
            words = []
            for p in parameters.split(", "):
                named = re.match(r"(.*[ *])(\w+)$", p)
                words.append(p if not named or re.search(rf"\b{named[2]}\b", used) else named[1].rstrip())
            parameters = ", ".join(words)
        else:
            parameters = ""
        # For accounts: where the program called. Fast paths note it where they end.
        is_noted = "{n}" in self.row_core and not re.match(r"(put|get)(_nbi|_value)?\(", self.row_core)
        note = "  weft::detail::note_call_site(__builtin_return_address(0));\n" if is_noted else ""
        return (f"extern \"C\" __attribute__((weak, alias(\"{self.twin}\"))) decltype({self.twin}) {self.name};\n"
                f"{self.result} {self.twin}({parameters}) {{\n{note}  {back}core::{used};\n}}\n")


def functions():
    for title, file, rows in TABLE:
        for row in rows:
            for variant in row[0] or [None]:
                for ctx in ((False, True) if "{C}" in row[2] else (False,)):
                    yield Function(title, file, row, variant, ctx)


def names():
    for f in functions():
        yield f.name
        yield f.twin


# --- Headers -------------------------------------------------------------------------------------

TOP = """/* {what}
   Written by src/shmem/generate.py from its table: change that. */
"""

SHMEM_H = TOP.replace("{what}", "OpenSHMEM 1.5, and sessions, blocks, scans, and what else 1.6 adds.\n"
                      "   docs/openshmem.md says what programs get.") + """#ifndef WEFT_SHMEM_H
#define WEFT_SHMEM_H
#include <stddef.h>
#include <stdint.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "weft"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6

#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

#define SHMEM_CTX_PRIVATE (1l << 0)
#define SHMEM_CTX_SERIALIZED (1l << 1)
#define SHMEM_CTX_NOSTORE (1l << 2)
#define SHMEM_CTX_SESSION_BATCH (1l << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1l << 0)
#define SHMEM_TEAM_NUM_CONTEXTS (1l << 0)
#define SHMEM_MALLOC_ATOMICS_REMOTE (1l << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1l << 1)

/* Handles are numbers, which are checked; a PE's handle means nothing to another one. */
typedef struct weft_shmem_context* shmem_ctx_t;
typedef struct weft_shmem_team* shmem_team_t;
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)

typedef struct {
  int num_contexts;
} shmem_team_config_t;
typedef struct {
  size_t total_ops;
} shmem_ctx_session_config_t;

/* Deprecated: work arrays of collectives of active sets are not looked at. */
#define SHMEM_SYNC_VALUE 0l
#define SHMEM_SYNC_SIZE 2
#define SHMEM_BARRIER_SYNC_SIZE 2
#define SHMEM_BCAST_SYNC_SIZE 2
#define SHMEM_COLLECT_SYNC_SIZE 2
#define SHMEM_REDUCE_SYNC_SIZE 2
#define SHMEM_ALLTOALL_SYNC_SIZE 2
#define SHMEM_ALLTOALLS_SYNC_SIZE 2
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING

#ifdef __cplusplus
#include <complex>
typedef std::complex<double> weft_shmem_complexd;
typedef std::complex<float> weft_shmem_complexf;
extern "C" {
#else
#include <complex.h>
typedef double _Complex weft_shmem_complexd;
typedef float _Complex weft_shmem_complexf;
#endif
"""


def guarded(name, what, body, includes):
    guard = "WEFT_" + name.upper().replace(".", "_").replace("/", "_")
    return (TOP.replace("{what}", what) + f"#ifndef {guard}\n#define {guard}\n" + "".join(f"#include {i}\n" for i in includes)
            + "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + body + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n")


def sections(of, twin=False):
    text, last = "", None
    for f in functions():
        if not of(f):
            continue
        if f.title != last:
            text += f"\n/* --- {f.title} --- */\n"
            last = f.title
        text += f.declaration(f.twin if twin else f.name) + "\n"
    return text


def generics():
    """C11: one name for all types. How many arguments there are says whether the first is a context."""
    of_template = {}
    for f in functions():
        if f.type and f.title != EXTENSIONS and "pSync" not in f.parameters:
            of_template.setdefault(re.sub(r"\{C\}|\{T\}_", "", f.template), []).append(f)
    text = ""
    for generic, all_of in of_template.items():
        types = {f.type for f in all_of}
        plain = [f for f in all_of if not f.has_ctx
                 and (f.type in DISTINCT or (f.type in SAME and SAME[f.type] not in types))]
        parameters = [p.split()[-1].lstrip("*") for p in plain[0].parameters.split(", ")]
        typed = next(i for i, p in enumerate(plain[0].parameters.split(", ")) if TYPES[plain[0].type] + "*" in p)
        later = ", ".join(f"{TYPES[t]}: shmem_{t}_atomic_{OLD_GENERICS[generic]}" for t in ("uint", "ulong", "ulonglong")
                          ) if generic in OLD_GENERICS else ""

        def choice(ctx, names):
            rows = ", ".join(f"{TYPES[f.type]}: shmem_{'ctx_' if ctx else ''}{f.name[len('shmem_'):]}"
                             for f in plain) + (", " + later if later else "")
            return f"_Generic(*({names[typed + (1 if ctx else 0)]}), {rows})({', '.join(names)})"
        if any(f.has_ctx for f in all_of):
            count = len(parameters)
            text += f"#define weft_{generic}_{count}({', '.join(parameters)}) {choice(False, parameters)}\n"
            text += f"#define weft_{generic}_{count + 1}(ctx, {', '.join(parameters)}) {choice(True, ['ctx'] + parameters)}\n"
            text += (f"#define {generic}(...) WEFT_SHMEM_CHOOSE(weft_{generic}_, WEFT_SHMEM_COUNT(__VA_ARGS__))"
                     "(__VA_ARGS__)\n")
        else:
            text += f"#define {generic}({', '.join(parameters)}) {choice(False, parameters)}\n"
    # Names that are functions too, or that differ in more than a type.
    text += ("#define weft_shmem_sync_1(team) shmem_team_sync(team)\n"
             "#define weft_shmem_sync_4(start, stride, size, psync) (shmem_sync)(start, stride, size, psync)\n"
             "#define shmem_sync(...) WEFT_SHMEM_CHOOSE(weft_shmem_sync_, WEFT_SHMEM_COUNT(__VA_ARGS__))(__VA_ARGS__)\n")
    for op in ("set", "add"):
        text += (f"#define weft_shmem_signal_{op}_3(sig_addr, signal, pe) (shmem_signal_{op})(sig_addr, signal, pe)\n"
                 f"#define weft_shmem_signal_{op}_4(ctx, sig_addr, signal, pe) "
                 f"shmem_ctx_signal_{op}(ctx, sig_addr, signal, pe)\n"
                 f"#define shmem_signal_{op}(...) WEFT_SHMEM_CHOOSE(weft_shmem_signal_{op}_, "
                 "WEFT_SHMEM_COUNT(__VA_ARGS__))(__VA_ARGS__)\n")
    return text


def complex_of_c():
    """C++: the same functions for C's complex numbers, which compilers have there too."""
    text = ""
    for f in functions():
        if not (f.type or "").startswith("complex"):
            continue
        gnu = f.parameters.replace("weft_shmem_complex", "weft_shmem_c_complex")
        words = []
        for p in f.parameters.split(", "):
            name = p.split()[-1].lstrip("*")
            words.append(f"reinterpret_cast<{p[:p.rindex('*') + 1]}>({name})" if "complex" in p else name)
        back = "" if f.result == "void" else "return "
        text += f"inline {f.result} {f.name}({gnu}) {{ {back}{f.name}({', '.join(words)}); }}\n"
    return ("\n/* --- C++: the same for complex numbers of C --- */\n#if defined(__cplusplus) && defined(__GNUC__)\n"
            "__extension__ typedef __complex__ double weft_shmem_c_complexd;\n"
            "__extension__ typedef __complex__ float weft_shmem_c_complexf;\n" + text + "#endif\n")


HELPERS = """
/* --- C11: one name for all types --- */
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112l
#define WEFT_SHMEM_COUNT(...) WEFT_SHMEM_TENTH(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define WEFT_SHMEM_TENTH(a, b, c, d, e, f, g, h, i, n, ...) n
#define WEFT_SHMEM_CHOOSE(name, count) WEFT_SHMEM_JOIN(name, count)
#define WEFT_SHMEM_JOIN(name, count) name##count
"""

SHMEMX_TYPES = """
/* Bytes that a message may hold; shmemx_am_payload_max() says what is accepted. */
#define SHMEMX_AM_PAYLOAD_MAX_SIZE 32768

/* Called by shmemx_am_poll(), shmemx_am_wait() and the other calls that take args_p, on the PE that calls them.
   The payload is gone when the handler returns. It may put, get, use atomics, fence, quiet, and send messages. */
typedef void (*shmemx_am_handler_t)(void* payload, size_t length, void* args_r, void* args_p, int source_pe);
"""

SHMEMX_NOTES = """
/* shmemx_am_set_handler      the paper's: id is this PE's own; NULL for handler resets the id that is passed
   shmemx_am_set_handler_all  collective: the same id on all PEs
   shmemx_am_send_nbi         payload may be changed after shmem_quiet(); waits while the target's queue is full
   shmemx_ctx_am_send_nbi     the same on a context; in a session with SHMEM_CTX_SESSION_BATCH messages go together
   shmemx_am_try_send_nbi     0 instead of waiting
   shmemx_am_poll             runs handlers of what has come; how many
   shmemx_am_wait             waits until something has come, then runs its handlers
   shmemx_am_reply            in a handler: what shmemx_am_call() of the source returns
   shmemx_am_call             sends, runs handlers while it waits, and returns how many bytes the handler has replied with
   shmemx_am_quiet            returns when the handlers of all messages that this PE has sent have run; runs handlers
   shmemx_am_barrier_all      collective: returns when all messages of all PEs, and what their handlers have sent, have
                              been handled */
"""


def headers(directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "mpp").mkdir(exist_ok=True)
    text = (SHMEM_H + sections(lambda f: f.title != EXTENSIONS) + "\n#ifdef __cplusplus\n}\n#endif\n" + complex_of_c() + HELPERS + generics()
            + "#endif\n#endif\n")
    (directory / "shmem.h").write_text(text)
    (directory / "shmemx.h").write_text(guarded(
        "shmemx.h", "Active messages: those of the paper, and more. docs/openshmem.md explains them.",
        SHMEMX_TYPES + SHMEMX_NOTES + sections(lambda f: f.title == EXTENSIONS), ["\"shmem.h\""]))
    (directory / "pshmem.h").write_text(guarded(
        "pshmem.h", "The profiling names: what a tool calls that defines the others itself.",
        sections(lambda f: True, twin=True), ["\"shmem.h\"", "\"shmemx.h\""]))
    (directory / "mpp" / "shmem.h").write_text(
        TOP.replace("{what}", "The old place of shmem.h.") + "#include \"../shmem.h\"\n")


def shells(directory):
    directory.mkdir(parents=True, exist_ok=True)
    of_file = {}
    for f in functions():
        of_file.setdefault(f.file, []).append(f)
    for file, all_of in of_file.items():
        text = ("// Written by src/shmem/generate.py.\n#include \"shmem/core.hpp\"\n#include \"shmem/pshmem.h\"\n\n"
                "namespace core = weft::shmem;\n\n")
        (directory / f"shells_{file}.cpp").write_text(text + "\n".join(f.shell() for f in all_of))


# --- Programs that call everything -----------------------------------------------------------------

def main():
    if len(sys.argv) == 2 and sys.argv[1] == "names":
        print("\n".join(sorted(names())))
    elif len(sys.argv) == 3 and sys.argv[1] in ("headers", "shells"):
        {"headers": headers, "shells": shells}[sys.argv[1]](Path(sys.argv[2]))
    else:
        sys.exit(__doc__)


main()
