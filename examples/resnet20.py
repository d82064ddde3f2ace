"""ResNet20 in PyTorch, with the layers and names of `hwprof workloads resnet20`: shortcuts only where
the stride is 2. One image after another; docs/layers.md sets it beside the workload.

    hwprof run --layers -- python3 examples/resnet20.py
"""

import sys

import torch
from torch import nn


def convolution(c_in, c_out, kernel, stride):
    return nn.Conv2d(c_in, c_out, kernel, stride, padding=kernel // 2, bias=False)


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Block(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = convolution(c_in, c_out, 3, stride)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.relu1 = nn.ReLU()
        self.conv2 = convolution(c_out, c_out, 3, 1)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.shortcut = stride > 1
        if self.shortcut:
            self.conv3 = convolution(c_in, c_out, 1, stride)
            self.bn3 = nn.BatchNorm2d(c_out)
            self.add = Add()
        self.relu2 = nn.ReLU()

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.relu2(self.add(y, self.bn3(self.conv3(x))) if self.shortcut else y)


class ResNet20(nn.Sequential):
    def __init__(self):
        super().__init__()
        self.conv0 = convolution(3, 16, 3, 1)
        self.bn0 = nn.BatchNorm2d(16)
        self.relu0 = nn.ReLU()
        c_in = 16
        for number in range(9):
            c_out = 16 << number // 3
            self.add_module(f"block{number + 1}", Block(c_in, c_out, c_out // c_in))
            c_in = c_out
        self.pool = nn.AvgPool2d(8)
        self.flatten = nn.Flatten()
        self.linear = nn.Linear(64, 10)


def main(images=100):
    torch.manual_seed(1)
    model = ResNet20().eval()
    with torch.no_grad():
        classes = [int(model(torch.randn(1, 3, 32, 32)).argmax()) for _ in range(images)]
    print(f"{images} images, most of class {max(set(classes), key=classes.count)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
