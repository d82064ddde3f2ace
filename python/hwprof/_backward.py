"""The backward pass of a module: from before the first of the nodes that its forward pass has put
into autograd's graph, to after the last of them. One thread runs the nodes of a graph in the opposite
order of their making, so that the passes nest as the forward ones did.

The gradients of weights that are then added to those before (AccumulateGrad) are of no module. The
hooks hold no node: a circle through the graph would never be freed.
"""

import torch

_MOST_NODES = 5000  # of one module's graph


class _Backward:
    """Of one forward pass. Runs each time when its part of the graph does."""

    __slots__ = ("kind", "depth", "exits", "left", "work", "entry")

    def __init__(self, kind, depth, exits, work):
        self.kind, self.depth, self.exits, self.work = kind, depth, exits, work
        self.left, self.entry = 0, None

    def begin(self, thread, frame):
        from hwprof import _library, _modules

        if self.entry is not None and any(each is self.entry for each in thread.open):
            return
        # What was to end before this one began, where a part of a graph is all that runs.
        while thread.open and isinstance(thread.open[-1], _Open) and \
                thread.open[-1].depth >= self.depth and thread.open[-1].frame is frame:
            _modules.pop_to(thread, len(thread.open) - 1)
        if thread.open:
            _modules.drop_stale(thread, frame)
        if not thread.open:
            _close_at_the_end(thread)
        self.left = self.exits
        self.entry = _Open(frame, self.kind, self.depth)
        _modules.push(thread, self.entry)
        _library.describe(self.entry.ticket, self.kind.type, None)
        if self.work is not None:
            _library.declare(self.entry.ticket, *self.work)

    def end(self, thread, _frame):
        from hwprof import _modules

        self.left -= 1
        if self.left > 0 or self.entry is None:
            return
        for depth in range(len(thread.open) - 1, -1, -1):
            if thread.open[depth] is self.entry:
                _modules.pop_to(thread, depth)
                break
        self.entry = None


class _Open:
    """As _modules.Pass, of a backward pass. What runs forward in it has a root of its own."""

    __slots__ = ("frame", "ticket", "number", "kind", "depth", "into")
    root = None

    def __init__(self, frame, kind, depth):
        self.frame, self.kind, self.depth = frame, kind, depth
        self.number, self.ticket = kind.number, 0


def _close_at_the_end(thread):
    """Of this pass through the graph, whatever of it was not to run."""
    from hwprof import _modules

    def close():
        for depth, entry in enumerate(thread.open):
            if isinstance(entry, _Open):
                _modules.pop_to(thread, depth)
                return

    torch.autograd.Variable._execution_engine.queue_callback(close)


def _is_leaf(node):
    return type(node).__name__ == "AccumulateGrad"


def _exits(outputs, inputs):
    """The nodes of this part of the graph behind which it ends; None: it is too large."""
    outside = set(inputs)
    pending, seen, exits = list(outputs), set(outputs), []
    while pending:
        node = pending.pop()
        inner = [each for each, _ in node.next_functions
                 if each is not None and each not in outside and not _is_leaf(each)]
        if not inner:
            exits.append(node)
        for each in inner:
            if each not in seen:
                seen.add(each)
                pending.append(each)
        if len(seen) > _MOST_NODES:
            return None
    return exits


def _kind_of(kind):
    from hwprof import _modules

    if kind.backward is None:
        name, kind_type = kind.name.decode() + " backward", kind.type.decode() + " backward"
        kind.backward = _modules.Kind(name, kind_type, _modules.number_of(name, kind_type), None)
    return kind.backward


def _work_of(entry, inputs, work):
    """Of a convolution or a Linear: the forward product once more for the gradient of the input, and
    once for that of the weights."""
    if work is None or not entry.kind.products:
        return None
    products = any(each.requires_grad for each in inputs) + entry.module.weight.requires_grad
    return work[0] * products, work[1] * products


def watch(thread, entry, inputs, outputs, work):
    from hwprof import _modules

    into = entry.into
    nodes = {each.grad_fn for each in outputs if each.grad_fn is not None}.difference(into)
    nodes = {each for each in nodes if hasattr(each, "register_prehook")}
    if not nodes:
        return
    exits = _exits(nodes, into)
    if exits is None:
        _modules._all.problem(f"backward passes with more than {_MOST_NODES} operations of one "
                              "module are not timed as one")
        return
    run = _Backward(_kind_of(entry.kind), thread.open.index(entry), len(exits),
                    _work_of(entry, inputs, work))
    for node in nodes:
        _begin_at(thread, node, run)
    for node in exits:
        node.register_hook(_modules.timed_hook(run.end))


def _begin_at(thread, node, run):
    """Hooks of a node run in the order in which they came: the outer module's last."""
    from hwprof import _modules

    runs = thread.starts.get(node)
    if runs is not None:
        runs.insert(0, run)
        return
    runs = thread.starts[node] = [run]

    def begin(thread, frame):
        for each in runs:
            each.begin(thread, frame)

    node.register_prehook(_modules.timed_hook(begin))
