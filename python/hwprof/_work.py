"""FLOP and bytes of a module's forward pass by the model: what its layer does by definition, whatever
code does it. A multiplication and an addition are two operations; comparisons are none. Bytes are
those of what goes in, what comes out and of the parameters, each once.

A module that is not in the table has neither.
"""

from math import prod


def _nothing(_module, _inputs, _outputs):
    return 0


def _of_output(per_element):
    return lambda module, inputs, outputs: per_element * prod(outputs[0])


def _taps(module, axis, size, positions):
    """Elements of the input that the windows of one dimension cover: the zeros around it cost nothing
    that a convolution need do, and hwprof's own workloads do not count them either."""
    stride, step = module.stride[axis], module.dilation[axis]
    # Of the last dimension first, each with what stands before and behind it.
    before = module._reversed_padding_repeated_twice[2 * (len(module.stride) - 1 - axis)]
    return sum(0 <= at * stride - before + tap * step < size
               for at in range(positions) for tap in range(module.kernel_size[axis]))


def _convolution(module, inputs, outputs):
    dimensions = len(module.kernel_size)
    images = prod(outputs[0][:-dimensions])  # with its channels
    if getattr(module, "padding_mode", "zeros") == "zeros":
        taps = prod(_taps(module, axis, inputs[0][axis - dimensions], outputs[0][axis - dimensions])
                    for axis in range(dimensions))
    else:
        taps = prod(outputs[0][-dimensions:]) * prod(module.kernel_size)
    products = images * taps * (module.in_channels // module.groups)
    return 2 * products


def _transposed_convolution(module, inputs, outputs):
    products = module.out_channels // module.groups * prod(module.kernel_size)
    return 2 * products * prod(inputs[0])


def _linear(module, _inputs, outputs):
    return 2 * module.in_features * prod(outputs[0])


def _bilinear(module, _inputs, outputs):
    products = module.in1_features * (module.in2_features + 1)
    return 2 * products * prod(outputs[0])


def _average(module, inputs, outputs):
    # Adds up a window, and divides; adaptive windows cover the input once.
    kernel = getattr(module, "kernel_size", None)
    if kernel is None:
        return prod(inputs[0]) + prod(outputs[0])
    dimensions = 1 if type(module).__name__.endswith("1d") else 2
    window = prod(kernel) if isinstance(kernel, tuple) else kernel**dimensions
    return (window + 1) * prod(outputs[0])


def _normalisation(module, inputs, _outputs):
    # A scale and a shift of each element; where no statistics are kept, or are being made, its part
    # in mean and variance before.
    statistics = module.training or not getattr(module, "track_running_stats", False)
    return (6 if statistics else 2) * prod(inputs[0])


# Matrix products of a recurrent cell, and the operations on each of its hidden values besides.
_GATES = {"LSTM": (4, 4), "GRU": (3, 5), "RNN": (1, 0), "LSTMCell": (4, 4), "GRUCell": (3, 5),
          "RNNCell": (1, 0)}


def _recurrent(module, inputs, _outputs):
    gates, besides = _GATES[type(module).__name__]
    hidden = module.hidden_size
    if not hasattr(module, "num_layers"):  # a cell: one step
        rows = prod(inputs[0][:-1])
        return rows * (2 * gates * hidden * (module.input_size + hidden) +
                       gates * hidden * bool(module.bias) + besides * hidden)
    rows = prod(inputs[0][:-1])
    directions = 2 if module.bidirectional else 1
    into = getattr(module, "proj_size", 0) or hidden
    flops = 0
    for layer in range(module.num_layers):
        width = module.input_size if layer == 0 else into * directions
        each = 2 * gates * hidden * (width + into) + gates * hidden * bool(module.bias)
        each += besides * hidden + (2 * hidden * into if getattr(module, "proj_size", 0) else 0)
        flops += rows * directions * each
    return flops


def _attention(module, inputs, outputs):
    # Projections of query, key, value and result, scores and their use: without a softmax.
    if len(inputs) < 2:
        raise ValueError("its key is no positional argument, and hooks are told of no other")
    query, key = inputs[0], inputs[1]
    width = module.embed_dim
    first = getattr(module, "batch_first", False)
    batch = 1 if len(query) == 2 else query[0] if first else query[1]
    rows, columns = prod(query[:-1]) // batch, prod(key[:-1]) // batch
    projections = 2 * batch * (rows * width * width + columns * (module.kdim + module.vdim) * width +
                               rows * width * width)
    return projections + 2 * 2 * batch * rows * columns * width


_TABLE = {
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _convolution),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
                    _transposed_convolution),
    "Linear": _linear,
    "Bilinear": _bilinear,
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm", "GroupNorm",
                     "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), _normalisation),
    **dict.fromkeys(("AvgPool1d", "AvgPool2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d",
                     "AdaptiveAvgPool3d"), _average),
    # They compare, look up or move.
    **dict.fromkeys(("Embedding", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AdaptiveMaxPool1d",
                     "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "ReLU", "ReLU6", "Hardtanh",
                     "ZeroPad2d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Flatten",
                     "Unflatten", "Identity"), _nothing),
    # An exponential or another function counts as one operation.
    "LeakyReLU": _of_output(1),
    "PReLU": _of_output(1),
    "Sigmoid": _of_output(3),
    "Tanh": _of_output(1),
    "SiLU": _of_output(4),
    "GELU": _of_output(5),
    "Softmax": _of_output(3),
    "LogSoftmax": _of_output(3),
    **dict.fromkeys(("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"), _recurrent),
    "MultiheadAttention": _attention,
}


def is_known(module):
    """Of PyTorch's own classes alone: a program's class may have the name of one, and do anything."""
    kind = type(module)
    return kind.__name__ in _TABLE and kind.__module__.startswith("torch.nn.modules.")


def has_products(module):
    """Whose backward pass is two such products: for its input and for its weights."""
    return _TABLE.get(type(module).__name__) in (_convolution, _linear) and is_known(module)


def flops_of(module, inputs, outputs):
    """`inputs` and `outputs` are sizes of tensors. ValueError, AttributeError and the like where the
    module is not what it seems."""
    return _TABLE[type(module).__name__](module, inputs, outputs)


def bytes_of(module, inputs, outputs):
    """Of tensors."""
    own = list(module.parameters(recurse=False))
    if type(module).__name__ in ("Embedding", "EmbeddingBag"):
        own = outputs  # the rows that are looked up, not the whole table
    return sum(tensor.numel() * tensor.element_size() for tensor in (*inputs, *outputs, *own))
