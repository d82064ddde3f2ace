"""Debian's licence texts as data: which licence does a piece of text come from?"""

import glob


def read_texts(length):
    """Each text of more than `length` words as the numbers of its words, and how many words there are."""
    paths = sorted(glob.glob("/usr/share/common-licenses/*"))
    texts = [open(path, errors="replace").read().split() for path in paths]
    texts = [words for words in texts if len(words) > length]
    numbers = {word: i for i, word in enumerate(sorted({word for words in texts for word in words}))}
    return [[numbers[word] for word in words] for words in texts], len(numbers)
