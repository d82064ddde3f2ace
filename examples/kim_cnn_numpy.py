"""The text CNN of kim_cnn.py by hand, in numpy: each convolution is one product of matrices.

    hwprof run --lines -- python3 examples/kim_cnn_numpy.py
"""

import sys

import numpy as np

from licences import read_texts


class Convolution:
    """Of a width, with ReLU and the maximum over time: [batch, length, d_e] to [batch, d_c]."""

    def __init__(self, random, width, d_e, d_c):
        self.width, self.d_c = width, d_c
        self.weights = random.standard_normal((width * d_e, d_c), "f") / np.float32(width * d_e) ** 0.5
        self.bias = np.zeros(d_c, "f")

    def forward(self, x):
        self.shape = x.shape
        positions = x.shape[1] - self.width + 1
        parts = [x[:, i:i + positions] for i in range(self.width)]
        self.columns = np.concatenate(parts, axis=2).reshape(len(x) * positions, -1)
        y = self.columns @ self.weights
        y = (y + self.bias).reshape(len(x), positions, self.d_c)
        self.best = y.argmax(axis=1)
        self.pooled = np.maximum(y.max(axis=1), 0)
        return self.pooled

    def backward(self, gradient):
        """Of the pooled values; returns that of the input. Those of the parameters follow."""
        batch, length, d_e = self.shape
        positions = length - self.width + 1
        dy = np.zeros((batch, positions, self.d_c), "f")
        np.put_along_axis(dy, self.best[:, None], (gradient * (self.pooled > 0))[:, None], axis=1)
        dy = dy.reshape(batch * positions, self.d_c)
        self.gradients = [self.columns.T @ dy, dy.sum(axis=0)]
        dcolumns = (dy @ self.weights.T).reshape(batch, positions, self.width, d_e)
        dx = np.zeros(self.shape, "f")
        for i in range(self.width):
            dx[:, i:i + positions] += dcolumns[:, :, i]
        return dx


class Kim:
    def __init__(self, random, words, classes, d_e=300, d_c=100):
        self.embedding = random.standard_normal((words, d_e), "f")
        self.convs = [Convolution(random, width, d_e, d_c) for width in (3, 4, 5)]
        self.weights = random.standard_normal((3 * d_c, classes), "f") / np.float32(3 * d_c) ** 0.5
        self.bias = np.zeros(classes, "f")

    def loss(self, text, labels):
        """The mean cross entropy; leaves the gradients of all parameters in `gradients`."""
        x = self.embedding[text]
        pooled = np.concatenate([conv.forward(x) for conv in self.convs], axis=1)
        scores = pooled @ self.weights + self.bias
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        chances, rows = np.exp(logs), np.arange(len(labels))
        loss = -logs[rows, labels].mean()
        chances[rows, labels] -= 1
        chances /= np.float32(len(labels))
        self.gradients = [pooled.T @ chances, chances.sum(axis=0)]
        parts = np.split(chances @ self.weights.T, len(self.convs), axis=1)
        dx = sum(conv.backward(part) for conv, part in zip(self.convs, parts))
        dembedding = np.zeros_like(self.embedding)
        np.add.at(dembedding, text.ravel(), dx.reshape(-1, dx.shape[2]))
        self.gradients += [dembedding] + [g for conv in self.convs for g in conv.gradients]
        return loss

    def parameters(self):
        own = [self.weights, self.bias, self.embedding]
        return own + [p for conv in self.convs for p in (conv.weights, conv.bias)]


def main(steps=10, batch=64, length=100):
    random = np.random.default_rng(1)
    texts, words = read_texts(length)
    texts = [np.array(text) for text in texts]
    model = Kim(random, words, len(texts))
    for _ in range(steps):
        labels = random.integers(len(texts), size=batch)
        begins = [random.integers(len(texts[label]) - length) for label in labels]
        pieces = np.stack([texts[label][begin:begin + length] for label, begin in zip(labels, begins)])
        loss = model.loss(pieces, labels)
        for parameter, gradient in zip(model.parameters(), model.gradients):
            parameter -= np.float32(0.05) * gradient
    print(f"loss {loss:.3f} after {steps} steps")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
