"""Mappers of the tests."""


def letters(text):
    """The first letter of each word, with the length of the word and 1."""
    for word in text.split():
        yield word[0].lower(), len(word), 1
