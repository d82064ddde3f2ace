"""Makes a region of each forward and backward of PyTorch's modules, by its global module hooks.

A hook must not break the program: an error in one ends in the record, not in the program, and no
hook changes a tensor. PyTorch's own backward hooks would: they put a function of theirs around the
outputs, whose change in place (ReLU(inplace=True)) is an error then. A backward pass is therefore
told by hooks of the nodes of the graph that the forward pass has made (_backward.py).

What is open in a thread is one stack of forward and backward passes. A forward pass that ends by an
exception is told of by no hook: that its frame is no longer among those of the thread tells it.
"""

import atexit
import os
import sys
import threading
import weakref
from time import perf_counter_ns as now

import torch

from hwprof import _backward, _calls, _library, _record, _work

_MOST_KINDS = 20000  # of names with their types, as of paths; then a module is counted in its class
_MOST_LOOSE = 100  # modules of one class that nobody names
_MOST_PROBLEMS = 5
_SNAPSHOT_NS = 2_000_000_000


class Kind:
    """What is said of each call of one module."""

    __slots__ = ("name", "type", "number", "shapes", "work", "known", "products", "backward", "ref")

    def __init__(self, name, kind, number, module):
        self.name, self.type, self.number = name.encode(), kind.encode(), number
        self.shapes, self.work = {}, {}
        self.known = module is not None and _work.is_known(module)
        self.products = module is not None and _work.has_products(module)
        self.backward = None
        self.ref = weakref.ref(module) if module is not None else None


class Pass:
    """One that is open: the frame from whose call it is left, and the region's ticket."""

    __slots__ = ("frame", "ticket", "number", "kind", "module", "root", "into")

    def __init__(self, frame, kind, module, root):
        self.frame, self.kind, self.module, self.root = frame, kind, module, root
        self.into = ()  # the inputs' nodes of the graph, before a change in place
        self.number = kind.number
        self.ticket = 0


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # passes
        self.starts = {}  # nodes of the graph: passes that begin there, of this forward pass alone
        self.id = threading.get_native_id()
        self.costs = [0, 0]  # ns in hooks, hooks
        _all.costs.append(self.costs)


class _Process:
    """What all threads share. Under the interpreter's lock."""

    def __init__(self):
        self.costs = []
        self.begin()
        try:
            self.table = _calls.open_table()
        except Exception as error:
            self.table = _calls._NoTable()
            self.problem("which calls of a BLAS belong to a module is not known: "
                         f"{type(error).__name__}: {error}")

    def begin(self):
        self.pid = os.getpid()
        self.numbers = {}  # of names with their types
        self.kinds = {}  # of modules by their id: checked against the reference
        self.names = weakref.WeakKeyDictionary()  # of outermost modules: of those in them, by id
        self.loose = {}  # how many of a class have no name of their own
        self.first_root = None
        self.inside = 0  # threads in a module
        self.problems = []
        self.costs.clear()
        self.told = now()

    def problem(self, text):
        if len(self.problems) < _MOST_PROBLEMS and text not in self.problems:
            self.problems.append(text)
            _record.write({"problem": text})


_all = None
_thread = None


def number_of(name, kind):
    key = (name, kind)
    number = _all.numbers.get(key)
    if number is None:
        if len(_all.numbers) >= _MOST_KINDS:
            _all.problem(f"more than {_MOST_KINDS} modules: the calls of those beyond are in none")
            return 0
        number = _all.numbers[key] = len(_all.numbers) + 1
        _record.write({"module": number, "name": name, "type": kind})
    return number


def _loose_name(module):
    kind = type(module).__name__
    number = _all.loose[kind] = _all.loose.get(kind, 0) + 1
    return kind if number == 1 or number > _MOST_LOOSE else f"{kind}-{number}"


def _name_in(root, module):
    names = _all.names.get(root)
    if names is None or id(module) not in names[1]:
        # Of a module that was put in since the last look, too.
        own = names[0] if names else _loose_name(root)
        inner = {id(each): name for name, each in root.named_modules() if name}
        if _all.first_root is None and inner:
            _all.first_root = weakref.ref(root)
        names = _all.names[root] = (own, inner)
    if module is root:
        return names[0]
    name = names[1].get(id(module))
    if name is None:
        return _loose_name(module)
    first = _all.first_root is not None and _all.first_root() is root
    return name if first else f"{names[0]}.{name}"


def _kind_of(module, root):
    key = (id(module), id(root))
    kind = _all.kinds.get(key)
    if kind is not None and kind.ref() is module:
        return kind
    if len(_all.kinds) >= _MOST_KINDS:
        _all.kinds.clear()
    name, type_name = _name_in(root, module), type(module).__name__
    kind = _all.kinds[key] = Kind(name, type_name, number_of(name, type_name), module)
    return kind


def _tensors(values):
    if isinstance(values, torch.Tensor):
        return (values,)
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (tuple, list)):
        return ()
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += [each for each in value if isinstance(each, torch.Tensor)]
    return found


def publish(thread):
    """Where the thread is, for the calls that it makes."""
    number = thread.open[-1].number if thread.open else 0
    alone = _all.inside <= 1
    _all.table.set(thread.id, _all.pid, number, alone)
    if alone or number == 0:
        _all.table.set_process(_all.pid, number if alone else 0, alone)


def push(thread, entry):
    if not thread.open:
        _all.inside += 1
    thread.open.append(entry)
    publish(thread)
    entry.ticket = _library.enter(entry.kind.name)


def pop_to(thread, depth):
    """Leaves what is open above."""
    if len(thread.open) <= depth:
        return
    _library.leave(thread.open[depth].ticket)
    for entry in thread.open[depth:]:
        entry.frame = entry.into = None  # which hold tensors
    del thread.open[depth:]
    if not thread.open:
        _all.inside -= 1
        thread.starts.clear()
    publish(thread)


def drop_stale(thread, frame):
    """Those whose frame is not among the callers of this one have ended without a word."""
    while thread.open:
        wanted, caller = thread.open[-1].frame, frame
        while caller is not None and caller is not wanted:
            caller = caller.f_back
        if caller is not None:
            return
        pop_to(thread, len(thread.open) - 1)


def _describe(entry, tensors):
    kind = entry.kind
    sizes = tuple(each.shape for each in tensors)
    shape = kind.shapes.get(sizes)
    if shape is None:
        if len(kind.shapes) >= 256:
            kind.shapes.clear()
        shape = ", ".join("x".join(map(str, each.shape)) or "scalar" for each in tensors)
        kind.shapes[sizes] = shape = shape[:200].encode()
    _library.describe(entry.ticket, kind.type, shape)


def _work_of(kind, module, inputs, outputs):
    key = (tuple(each.shape for each in inputs), tuple(each.shape for each in outputs),
           module.training)
    work = kind.work.get(key)
    if work is None:
        if len(kind.work) >= 256:
            kind.work.clear()
        work = kind.work[key] = (_work.flops_of(module, key[0], key[1]),
                                 _work.bytes_of(module, inputs, outputs))
    return work


def _before_forward(module, inputs):
    if torch.jit.is_tracing():
        return  # sizes are tensors then, and what is asked of them becomes a part of the trace
    began = now()
    thread = _thread
    try:
        frame = sys._getframe(1)
        if thread.open:
            drop_stale(thread, frame.f_back)
        root = thread.open[-1].root if thread.open else None
        root = module if root is None else root
        entry = Pass(frame, _kind_of(module, root), module, root)
        tensors = _tensors(inputs)
        if torch.is_grad_enabled():
            entry.into = {each.grad_fn for each in tensors} - {None}
        push(thread, entry)
        _describe(entry, tensors)
    except Exception as error:
        _all.problem(f"hook before a forward pass: {type(error).__name__}: {error}")
    _cost(thread, began)


def _after_forward(module, inputs, output):
    began = now()
    thread = _thread
    try:
        frame = sys._getframe(1)
        depth = len(thread.open) - 1
        while depth >= 0 and thread.open[depth].frame is not frame:
            depth -= 1
        if depth >= 0:
            _end_forward(thread, depth, _tensors(inputs), _tensors(output))
    except Exception as error:
        _all.problem(f"hook after a forward pass: {type(error).__name__}: {error}")
    _cost(thread, began)


def _end_forward(thread, depth, inputs, outputs):
    entry = thread.open[depth]
    kind, work = entry.kind, None
    if kind.known:
        try:
            work = _work_of(kind, entry.module, inputs, outputs)
        except Exception as error:
            kind.known = False
            _all.problem(f"FLOP of {kind.name.decode()}: {type(error).__name__}: {error}")
        if work is not None:
            _library.declare(entry.ticket, *work)
    try:
        if torch.is_grad_enabled():
            _backward.watch(thread, entry, inputs, outputs, work)
    finally:
        pop_to(thread, depth)
    if depth == 0:
        _snapshot()


def _cost(thread, began):
    thread.costs[0] += now() - began
    thread.costs[1] += 1


def timed_hook(begin):
    """A hook of a node: `begin` gets the thread and the frame from which backward was called."""

    def hook(*_gradients):
        began = now()
        thread = _thread
        try:
            begin(thread, sys._getframe(1))
        except Exception as error:
            _all.problem(f"hook of a backward pass: {type(error).__name__}: {error}")
        _cost(thread, began)

    return hook


def _snapshot():
    """A process that ends by os._exit or a signal leaves what it had some seconds before."""
    pattern = os.environ.get("HWPROF_REGIONS", "")
    if now() - _all.told < _SNAPSHOT_NS or not _record.wanted() or "%p" not in pattern:
        return
    _all.told = now()
    _write_regions(pattern)


def _write_regions(pattern):
    path = pattern.replace("%p", str(os.getpid()), 1)
    _library.write(os.fsencode(path), _library.JSON if path.endswith(".json") else _library.TEXT)


def _tell_end():
    hook_ns, hooks = (sum(each[i] for each in _all.costs) for i in (0, 1))
    from hwprof import _onednn

    try:
        onednn = _onednn.vectors() if _record.wanted() else None
    except Exception:
        onednn = None
    _record.write({"ended": True, "hook_ns": hook_ns, "hooks": hooks, "onednn": onednn})


def _begin_in_child():
    _record.begin_in_child()
    _all.begin()
    _thread.__dict__.clear()
    _thread.__init__()
    _record.write({"python": sys.version.split()[0], "torch": torch.__version__})


def _end_with_multiprocessing(_anything):
    """Its children end by os._exit, and run what is registered there before."""
    from multiprocessing import util

    def end():
        _write_regions(os.environ.get("HWPROF_REGIONS", ""))
        _tell_end()

    if _record.wanted() and "%p" in os.environ.get("HWPROF_REGIONS", ""):
        util.Finalize(None, end, exitpriority=0)


def watch():
    global _all, _thread
    if _all is not None:
        return
    _all = _Process()
    _thread = _Thread()
    from torch.nn.modules import module

    module.register_module_forward_pre_hook(_before_forward)
    module.register_module_forward_hook(_after_forward)
    atexit.register(_tell_end)
    os.register_at_fork(after_in_child=_begin_in_child)
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].register_after_fork(_all, _end_with_multiprocessing)
    _record.write({"torch": torch.__version__})
