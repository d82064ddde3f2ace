"""The layers of examples/resnet20.py, out of the report of `hwprof run --layers`, as the table that
`hwprof --workload resnet20 --against` sets beside its own.

    hwprof run --layers --format json -o torch.json -- python3 examples/resnet20.py
    python3 examples/layer_table.py torch.json > torch.csv
    hwprof --workload resnet20 --against torch.csv
"""

import json
import sys

# As Chainer's TimerHook names them.
TYPES = {"Conv2d": "Convolution2DFunction", "BatchNorm2d": "BatchNormalization", "ReLU": "ReLU", "Add": "Add",
         "AvgPool2d": "AveragePooling2D", "Flatten": "Reshape", "Linear": "LinearFunction"}
LAYERS = ("conv0", "bn0", "relu0", *(f"block{block}.{layer}" for block in range(1, 10) for layer in (
    "conv1", "bn1", "relu1", "conv2", "bn2", "conv3", "bn3", "add", "relu2")), "pool", "flatten", "linear")


def main(path):
    with open(path) as file:
        modules = {module["name"]: module for module in json.load(file)["modules"]}
    print("index,layer,seconds")
    for index, name in enumerate(filter(modules.get, LAYERS)):
        module = modules[name]
        print(f"{index},{TYPES[module['type']]},{module['self_ns'] * 1e-9 / module['occurrence']:.3e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
