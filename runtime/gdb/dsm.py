# Commands of gdb for programs that dsm-cc has linked. gdb runs this file with each such program, where it trusts the program's directory
# (`add-auto-load-safe-path`); `source dsm.py` does the same by hand.
#
# They call functions of the stopped process (runtime/src/debugger.rs) which only read memory, with its other threads stopped. What a process has
# not fetched yet, or not again, is read from its home; for the time of an evaluation it is put into the process's own invalid copy, where gdb
# looks for it, and then the copy is as it was.

import contextlib
import re
import struct

import gdb

# What an expression reads on its way is brought up to this size; the whole of it up to the second.
ON_THE_WAY = 4096
WHOLE = 1 << 20

LOCAL, BROUGHT, MOVING, FAR = range(4)


@contextlib.contextmanager
def setting(name, value):
    """Changes a setting of gdb for a while."""
    before = gdb.parameter(name)
    if isinstance(before, bool):
        before = "on" if before else "off"
    gdb.execute("set {} {}".format(name, value), to_string=True)
    try:
        yield
    finally:
        gdb.execute("set {} {}".format(name, before), to_string=True)


def call(function, *arguments):
    """Calls a function of the runtime in the stopped process, no other thread of which runs meanwhile. Returns its result as a number."""
    if gdb.selected_thread() is None:
        raise gdb.GdbError("the program is not running; start it, or attach to one of its processes")
    types = ", ".join(["unsigned long"] * len(arguments)) or "void"
    text = ", ".join(str(argument) for argument in arguments)
    while_called = [("language", "c"), ("scheduler-locking", "on"), ("unwindonsignal", "on"), ("may-call-functions", "on")]
    with contextlib.ExitStack() as settings:
        for name, value in while_called:
            settings.enter_context(setting(name, value))
        try:
            return int(gdb.parse_and_eval("((unsigned long (*)({}))&{})({})".format(types, function, text)))
        except gdb.error as error:
            if "No symbol" in str(error):
                raise gdb.GdbError("the program was not linked by dsm-cc, or its symbols were stripped")
            raise gdb.GdbError("the process cannot be asked in this thread ({}); try another one".format(error))


def text(address):
    """The string at an address, without its last line break."""
    return gdb.selected_inferior().read_memory(address, 8192).tobytes().split(b"\0")[0].decode(errors="replace").rstrip("\n")


def read(address, length):
    """Yields {what, rank, first address, bytes} of the pieces of memory, None for the bytes that the process has itself."""
    end = address + length
    while address < end:
        answer = gdb.selected_inferior().read_memory(call("dsm_rt_debug_read", address, end - address), 32)
        what, rank, count, at = struct.unpack("=4Q", answer)
        contents = bytes(gdb.selected_inferior().read_memory(at, count)) if what == BROUGHT else None
        yield what, rank, address, contents
        address += count


class Copies:
    """Contents that were put into the process's invalid copies for gdb to see."""

    def __init__(self):
        self.replaced = []
        self.known = set()
        self.homes = set()

    def bring(self, address, length):
        """Makes gdb see the current contents of some memory."""
        if (address, length) in self.known:
            return
        self.known.add((address, length))
        for what, rank, at, contents in read(address, length):
            if what == MOVING:
                raise gdb.GdbError(
                    "the home of {:#x} is on its way to process {}: let the job run on for a moment (continue, Ctrl-C), then "
                    "try again".format(at, rank)
                )
            if what == FAR:
                raise gdb.GdbError(
                    "{:#x} is not valid in this process, and its home is probably process {}, whose memory cannot be read from here "
                    "(another host, or DSM_TRANSPORT=stream): attach to that process".format(at, rank)
                )
            if what == BROUGHT:
                inferior = gdb.selected_inferior()
                self.replaced.append((at, bytes(inferior.read_memory(at, len(contents)))))
                inferior.write_memory(at, contents)
                self.homes.add(rank)

    def put_back(self):
        """Leaves the process as it was."""
        for address, contents in reversed(self.replaced):
            gdb.selected_inferior().write_memory(address, contents)


@contextlib.contextmanager
def current(expression, whole=True):
    """While this lasts, gdb sees the current contents of everything that the expression names; without `whole`, of what it goes through."""
    if re.search(r"\+\+|--|(?<![=<>!/])=(?!=)", expression):
        raise gdb.GdbError("the expression is evaluated several times: it must not change anything")
    copies = Copies()
    # The program's code would run, and wait for processes that are stopped.
    with setting("may-call-functions", "off"):
        try:
            for part in parts(expression):
                if whole or part != expression:
                    bring(copies, part, ON_THE_WAY)
            if whole:
                bring(copies, expression, WHOLE)
            yield copies
        finally:
            copies.put_back()


def bring(copies, expression, limit):
    """Brings an object, if the expression names one."""
    try:
        value = gdb.parse_and_eval(expression)
        address = value.address
        if address is None or value.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
            return
        address, length = int(address), value.type.strip_typedefs().sizeof
        if value.dynamic_type.sizeof > length:
            length = value.dynamic_type.sizeof
    except (gdb.error, RuntimeError):
        # Not an expression by itself, or one that has no memory: the whole expression says so, if it matters.
        return
    if length <= limit:
        copies.bring(address, length)
    elif limit == WHOLE:
        raise gdb.GdbError("{} has {} bytes: print a part of it, of at most {}".format(expression, length, WHOLE))


def parts(expression):
    """The variables, members and elements that an expression goes through, each after what it is reached by: p, p->next, p->next->value."""
    word = re.compile(r"\$?[A-Za-z_]\w*(?:::\w+)*")
    step = re.compile(r"\s*(?:->|\.|%)\s*\w+")
    for start in word.finditer(expression):
        if expression[: start.start()].rstrip().endswith(("->", ".", "%", "::")):
            continue
        end = start.end()
        yield expression[start.start() : end]
        yield from extended(expression, start.start(), end, step)
    for start in (i for i, c in enumerate(expression) if c == "("):
        end = closing(expression, start)
        yield expression[start:end]
        yield from extended(expression, start, end, step)


def extended(expression, start, end, step):
    """A part with the members and elements behind it, one more each time."""
    while end < len(expression):
        if expression[end] in "[(":
            end = closing(expression, end)
        else:
            found = step.match(expression, end)
            if not found:
                return
            end = found.end()
        yield expression[start:end]


def closing(expression, start):
    """Where the bracket that opens at `start` has closed."""
    depth = 0
    for at in range(start, len(expression)):
        depth += expression[at] in "([{"
        depth -= expression[at] in ")]}"
        if depth == 0:
            return at + 1
    return len(expression)


class Dsm(gdb.Command):
    """Look at the memory that the processes of a program share."""

    def __init__(self):
        super().__init__("dsm", gdb.COMMAND_DATA, prefix=True)


class Command(gdb.Command):
    """A command whose errors are messages, without Python's words around them."""

    def invoke(self, argument, from_tty):
        try:
            self.run(argument.strip())
        except gdb.error as error:
            raise gdb.GdbError(str(error))


class Info(Command):
    """dsm info: which process of its job this is, and what the coherence protocol did in it so far."""

    def __init__(self):
        super().__init__("dsm info", gdb.COMMAND_STATUS)

    def run(self, argument):
        print(text(call("dsm_rt_debug_job")))


class Block(Command):
    """dsm block EXPRESSION: the coherence block of an object, or of an address: its bytes, state, home and versions."""

    def __init__(self):
        super().__init__("dsm block", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def run(self, argument):
        if not argument:
            raise gdb.GdbError("dsm block needs a variable or an address")
        with current(argument, whole=False):
            value = gdb.parse_and_eval(argument)
            address = int(value.address if value.address is not None else value) & (1 << 64) - 1
        symbol = gdb.execute("info symbol {:#x}".format(address), to_string=True)
        name = "" if symbol.startswith("No symbol") else " " + symbol.split(" in section")[0]
        print("{:#x}{}\n{}".format(address, name, text(call("dsm_rt_debug_block", address))))


class Print(Command):
    """dsm print[/FORMAT] EXPRESSION: as print, of the current contents of shared memory, wherever in the job they are."""

    def __init__(self):
        super().__init__("dsm print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def run(self, argument):
        how, expression = re.match(r"(/\w+)?\s*(.*)", argument).groups("")
        if not expression:
            raise gdb.GdbError("dsm print needs an expression")
        with current(expression) as copies:
            gdb.execute("print{} {}".format(how, expression))
        if copies.homes:
            ranks = ", ".join(str(rank) for rank in sorted(copies.homes))
            print("(not valid in this process; read from the home in process {})".format(ranks))


Dsm()
Info()
Block()
Print()
