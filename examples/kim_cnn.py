"""A text CNN (Kim 2014) in PyTorch, trained to tell licences apart. The same in numpy: kim_cnn_numpy.py.

    hwprof run --lines --layers -- python3 examples/kim_cnn.py
"""

import torch
from torch import nn

from licences import read_texts


class Kim(nn.Module):
    def __init__(self, words, classes, d_e=300, d_c=100):
        super().__init__()
        self.embedding = nn.Embedding(words, d_e)
        self.convs = nn.ModuleList(nn.Conv1d(d_e, d_c, width) for width in (3, 4, 5))
        self.relu = nn.ReLU()
        self.linear = nn.Linear(3 * d_c, classes)

    def forward(self, text):
        x = self.embedding(text).transpose(1, 2)
        pooled = [self.relu(conv(x)).max(dim=2).values for conv in self.convs]
        return self.linear(torch.cat(pooled, dim=1))


def main(steps=40, batch=64, length=100):
    torch.manual_seed(1)
    texts, words = read_texts(length)
    texts = [torch.tensor(text) for text in texts]
    model, loss_of = Kim(words, len(texts)), nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        labels = torch.randint(len(texts), (batch,))
        begins = [torch.randint(len(texts[label]) - length, ()) for label in labels]
        pieces = [texts[label][begin:begin + length] for label, begin in zip(labels, begins)]
        loss = loss_of(model(torch.stack(pieces)), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print(f"loss {loss.item():.3f} after {steps} steps")


if __name__ == "__main__":
    main()
