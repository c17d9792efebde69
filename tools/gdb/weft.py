"""Commands of gdb for programs with weft: the ranks of a job, and the stack of each.

    (gdb) source PREFIX/share/weft/gdb/weft.py
    (gdb) weft ranks        every rank: its worker, what it waits in, for whom
    (gdb) weft rank 3       enter waiting rank 3: bt, up, print show its stack
    (gdb) weft leave        back; done by itself before the program goes on
    (gdb) weft print X      as print, with the globals of the copy of the program that the frame is in

A rank that waits is a fiber whose registers lie on its own stack. Entering it makes that stack the caller of frame 0, which
stays where the worker's thread is. Nothing of the program is changed, so it may be left in any way, and a core file shows
the ranks, too. The program needs debug information of weft (-g).
"""
import re

import gdb
import gdb.unwinder

# What a switch (src/fiber/switch.hpp) keeps at the pointer to a suspended context, in bytes; the
# stack pointer is `size` above it. By the name that gdb gives the processor.
SAVED = {
    "i386:x86-64": {"size": 0x20, "stack": "rsp", "counter": "rip", "registers": {
        "rbp": 0x08, "rbx": 0x10, "rip": 0x18}},
}


def workers():
    """Each thread of gdb that is a worker, with the worker."""
    selected = gdb.selected_thread()
    found = []
    try:
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            thread.switch()
            worker = gdb.parse_and_eval("'weft::worker::current_worker_'")
            if int(worker) != 0:
                found.append((thread, worker.dereference()))
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()
    return found


def fibers(worker):
    """The living fibers of a worker that are ranks."""
    at = worker["oldest_"]["_M_b"]["_M_p"]  # Of a std::atomic.
    while int(at) != 0:
        if int(at["number"]) >= 0:
            yield at.dereference()
        at = at["newer"]


def suspended(fiber):
    """Where the registers of a fiber are kept; 0 when it has not begun."""
    payload = fiber["flow"]["_M_payload"]
    if not bool(payload["_M_engaged"]):
        return 0
    return int(payload["_M_payload"]["_M_value"]["suspended_"])


def wait_of(fiber):
    if int(fiber["waiting_in"]) == 0:
        return "ready" if suspended(fiber) else "not begun"
    what = fiber["waiting_in"].dereference()
    text = "in " + what["call"].string()
    if int(what["peer"]) >= 0:
        text += f", peer {int(what['peer'])}"
    if int(what["tag"]) >= 0:
        text += f", tag {int(what['tag'])}"
    if int(what["bytes"]) > 0:
        text += f", {int(what['bytes'])} bytes"
    return text + f", communicator {int(what['context'])}"


class Weft(gdb.Command):
    """Commands for programs with weft: weft ranks, weft rank NUMBER, weft leave."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Ranks(gdb.Command):
    """Lists the ranks of this process: worker, state, call, peer, tag."""

    def __init__(self):
        super().__init__("weft ranks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        leave()
        lines = []
        for thread, worker in workers():
            for fiber in fibers(worker):
                runs = int(worker["running_"]) == int(fiber.address)
                place = f" (on the stack of thread {thread.num})" if runs else ""
                lines.append((int(fiber["number"]),
                              f"rank {int(fiber['number'])} (worker {int(worker['index_'])}): "
                              f"{'running' if runs and int(fiber['waiting_in']) == 0 else wait_of(fiber)}"
                              f"{place}"))
        for _, line in sorted(lines):
            print(line)
        if not lines:
            print("no ranks: the job has not begun or has ended")


# The thread that shows another stack, and the registers there.
entered = None


def leave(*_):
    global entered
    if entered is not None:
        entered = None
        gdb.invalidate_cached_frames()


class Place:
    """How gdb tells frame 0 of an entered stack from others."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Entrance(gdb.unwinder.Unwinder):
    """Says that the caller of frame 0 is the frame at which an entered rank waits."""

    def __init__(self):
        super().__init__("weft")

    def __call__(self, pending):
        if entered is None:
            return None
        thread, layout, values, top = entered
        selected = gdb.selected_thread()
        if selected is None or selected.ptid != thread.ptid or pending.level() != 0:
            return None
        word = gdb.lookup_type("unsigned long")
        # Callers lie at higher addresses.
        made = pending.create_unwind_info(Place(gdb.Value(top).cast(word), pending.read_register(layout["counter"])))
        for name, value in values.items():
            made.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return made


class Rank(gdb.Command):
    """Enters the stack of a waiting rank: weft rank NUMBER, then bt."""

    def __init__(self):
        super().__init__("weft rank", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        global entered
        if not argument.strip().isdigit():
            raise gdb.GdbError("weft rank needs a number: weft ranks lists them")
        number = int(argument)
        leave()
        for thread, worker in workers():
            for fiber in fibers(worker):
                if int(fiber["number"]) != number:
                    continue
                thread.switch()
                if int(worker["running_"]) == int(fiber.address):
                    gdb.execute("frame 0")
                    return
                self.enter(thread, fiber)
                return
        raise gdb.GdbError(f"no rank {number}: weft ranks lists them")

    @staticmethod
    def enter(thread, fiber):
        global entered
        gdb.execute("frame 0", to_string=True)
        layout = SAVED.get(gdb.selected_frame().architecture().name())
        at = suspended(fiber)
        if layout is None:
            raise gdb.GdbError("stacks of waiting ranks can be entered on x86-64 only")
        if at == 0:
            raise gdb.GdbError("this rank has not begun")
        word = gdb.lookup_type("unsigned long").pointer()
        values = {name: int(gdb.Value(at + offset).cast(word).dereference())
                  for name, offset in layout["registers"].items()}
        values[layout["stack"]] = at + layout["size"]
        entered = (thread, layout, values, at)
        gdb.invalidate_cached_frames()
        gdb.execute("frame 1")


class Leave(gdb.Command):
    """Leaves the stack that weft rank has entered."""

    def __init__(self):
        super().__init__("weft leave", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        leave()


class Print(gdb.Command):
    """Prints an expression with the global variables of the copy that the selected frame is in.

    gdb itself shows those of the first copy: it takes a global variable of a library for one that the
    linker may have copied to the program. (In a job that gdb has started it shows the right ones.)"""

    def __init__(self):
        super().__init__("weft print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        table = gdb.selected_frame().find_sal().symtab
        if table is None:
            raise gdb.GdbError("the selected frame has no debug information: compile with -g")
        self.found = 0
        # Names, but for members and gdb's own variables.
        text = re.sub(r"(?<![\w$.])(?<!->)[A-Za-z_]\w*(?:::\w+)*",
                      lambda name: self.replaced(name[0], table.objfile), argument)
        gdb.execute("print " + text)

    def replaced(self, name, copy):
        """A global variable as a reference through its address in the copy; anything else as it is."""
        try:
            seen = gdb.lookup_symbol(name)[0]
        except gdb.error:
            return name
        if seen is None or not seen.is_variable or seen.needs_frame:
            return name
        own, shift = copy.lookup_static_symbol(name), 0
        if own is None:
            own, shift = copy.lookup_global_symbol(name), self.place(copy) - self.place(self.first_of(copy))
        if own is None or not own.is_variable or own.needs_frame or own.value().address is None:
            return name
        address = own.value().address
        self.found += 1
        gdb.set_convenience_variable(f"weft_{self.found}", gdb.Value(int(address) + shift).cast(address.type))
        return f"(*$weft_{self.found})"

    # Functions are where they are: only variables are taken for those of the first copy.
    @staticmethod
    def place(objfile):
        main = objfile.lookup_global_symbol("main")
        return int(main.value().address) if main is not None else 0

    @staticmethod
    def first_of(copy):
        return next(objfile for objfile in gdb.objfiles() if objfile.filename == copy.filename)


Weft()
Ranks()
Rank()
Leave()
Print()
gdb.unwinder.register_unwinder(None, Entrance(), replace=True)
# gdb itself follows the frames of the program when it goes on.
for command in ("continue", "step", "next", "stepi", "nexti", "finish", "until", "advance", "jump", "call", "return"):
    gdb.execute(f"define hook-{command}\nweft leave\nend", to_string=True)
gdb.events.cont.connect(leave)
